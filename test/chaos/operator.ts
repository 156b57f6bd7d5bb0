import { join } from "node:path";
import { Program } from "../process/support/program.js";
import type { Client } from "./client.js";
import type { Dice } from "./dice.js";
import type { Host } from "./host.js";
import type { World } from "./world.js";

interface Chore {
  readonly weight: number;
  readonly run: () => Promise<void>;
}

/** The cloud's operator: fences and evacuates lost hosts, disables hosts, and repairs allocations. */
export class Operator {
  readonly #world: World;
  readonly #client: Client;
  readonly #dice: Dice;
  readonly #chores: readonly Chore[];

  constructor(world: World, client: Client, dice: Dice) {
    this.#world = world;
    this.#client = client;
    this.#dice = dice;
    this.#chores = [
      { weight: 8, run: () => this.#fence() },
      { weight: 4, run: () => this.#evacuateMore() },
      { weight: 2, run: () => this.#forceUp() },
      { weight: 2, run: () => this.#setStatus("disabled") },
      { weight: 2, run: () => this.#setStatus("enabled") },
      { weight: 1, run: () => this.#command("heal", "manage", "placement", "heal_allocations") },
      { weight: 1, run: () => this.#auditAndApply() },
    ];
  }

  async run(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await this.#dice.pause(300, 2_000, until);
      if (!until.aborted) {
        await this.#dice.weighted(this.#chores)?.run();
      }
    }
  }

  /** Forces a host's service down or up; one of {@link run}'s tasks. Returns true if the service is up. */
  async setForcedDown(host: Host, forcedDown: boolean): Promise<boolean> {
    const id = await this.#serviceId(host);
    if (id === null) {
      return false;
    }
    const operation = forcedDown ? "force down" : "force up";
    const path = `/os-services/${id}`;
    const response = await this.#client.act(operation, { method: "PUT", path, body: { forced_down: forcedDown } });
    return response?.status === 200;
  }

  async enable(host: Host): Promise<void> {
    const id = await this.#serviceId(host);
    await this.#client.ask("PUT", `/os-services/${id}`, { status: "enabled" });
  }

  /** Fences a lost host, usually by killing its agents, before its servers are evacuated. */
  async #fence(): Promise<void> {
    const host = this.#dice.pick(this.#world.hosts.filter(({ lost, fenced }) => lost && !fenced));
    if (host === undefined) {
      return;
    }
    host.fenced = true;
    if (this.#dice.chance(0.7)) {
      await host.kill();
    }
    if (!(await this.setForcedDown(host, true))) {
      return;
    }
    for (const id of await this.#serversOn(host)) {
      if (this.#dice.chance(0.8)) {
        await this.#evacuate(id);
      }
    }
  }

  /** Evacuates remaining or new servers of a fenced host, during other operations on them. */
  async #evacuateMore(): Promise<void> {
    const host = this.#dice.pick(this.#world.hosts.filter(({ fenced }) => fenced));
    const id = host && this.#dice.pick(await this.#serversOn(host));
    if (id !== undefined) {
      await this.#evacuate(id);
    }
  }

  async #evacuate(id: string): Promise<void> {
    const { hosts } = this.#world;
    const host = this.#dice.chance(0.5) ? {} : { host: this.#dice.pick(hosts)?.name };
    const forced = "host" in host && this.#dice.chance(0.2);
    const body = { evacuate: forced ? { ...host, force: true } : host };
    const version = forced ? "2.67" : this.#dice.chance(0.3) ? "2.95" : "2.94";
    await this.#client.act("evacuate", { method: "POST", path: `/servers/${id}/action`, body, version }, id);
  }

  async #forceUp(): Promise<void> {
    const host = this.#dice.pick(this.#world.hosts.filter(({ fenced, lost }) => fenced && !lost));
    if (host !== undefined) {
      await this.setForcedDown(host, false);
    }
  }

  async #setStatus(status: "enabled" | "disabled"): Promise<void> {
    const host = this.#dice.pick(this.#world.hosts);
    const id = host && (await this.#serviceId(host));
    if (id !== undefined) {
      await this.#client.act(status, { method: "PUT", path: `/os-services/${id}`, body: { status } });
    }
  }

  async #auditAndApply(): Promise<void> {
    const plan = join(this.#world.directory.root, "plan.json");
    await this.#command("audit", "audit", "--plan", plan);
    await this.#command("apply", "apply", plan);
  }

  async #command(operation: string, ...args: readonly string[]): Promise<void> {
    const program = new Program("compute-cluster", [...args, "--state-dir", this.#world.directory.root]);
    const { code } = await program.exited;
    this.#world.journal.count(operation, code === 0 ? "done" : "failed");
    this.#world.journal.note(this.#client.who, `${operation} -> ${code}: ${program.stdout.trim().slice(0, 2_000)}`);
  }

  async #serviceId(host: Host): Promise<string | null> {
    const response = await this.#client.ask("GET", `/os-services?binary=nova-compute&host=${host.name}`);
    const id = response?.body.services?.[0]?.id;
    return id === undefined ? null : String(id);
  }

  async #serversOn(host: Host): Promise<readonly string[]> {
    const response = await this.#client.ask("GET", `/servers?all_tenants=1&host=${host.name}`);
    return Object.values(response?.body.servers ?? {}).map(({ id }) => String(id));
  }
}
