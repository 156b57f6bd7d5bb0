import { setTimeout as timer } from "node:timers/promises";
import type { Client } from "./client.js";
import type { Host } from "./host.js";
import type { Operator } from "./operator.js";
import { CHECKS, type Check, type Findings, runChecks } from "./oracle/checks.js";
import { withSnapshot } from "./oracle/snapshot.js";
import type { Violation } from "./violation.js";
import type { World } from "./world.js";

/** The result of a settle point. */
export interface Settled {
  readonly seconds: number;
  readonly failed: readonly { readonly check: Check; readonly violation: Violation; readonly evidence: string }[];
}

/** Milliseconds for a cluster without faults to settle; longer than any of its own timeouts. */
const SETTLE_TIMEOUT_MS = 90_000;
/** Milliseconds without a change, and without an active operation, after which violations are final. */
const NO_HOPE = 20_000;
const LOOK_EVERY = 300;
/** Max attempts of a delete that a fault stopped. */
const RETRIES = 5;

/** Settles a world: faults end, hosts return, and operations finish. Then all checks must pass. */
export class Settler {
  readonly #world: World;
  readonly #operator: Operator;
  readonly #client: Client;
  /** Violations that were reported; each would recur at every later settle point. */
  readonly #reported = new Set<string>();

  constructor(world: World, operator: Operator, client: Client) {
    this.#world = world;
    this.#operator = operator;
    this.#client = client;
  }

  async settle(): Promise<Settled> {
    const started = performance.now();
    this.#world.journal.note("settle", "everything comes back");
    await this.#bringBack(started + SETTLE_TIMEOUT_MS);
    const retried = new Map<string, number>();
    let last = { text: "", at: started };
    for (;;) {
      const findings = await runChecks(this.#world, (uuid) => this.#deleteAgain(uuid, retried));
      const failed = this.#fresh(findings);
      const now = performance.now();
      const text = JSON.stringify(failed);
      if (text !== last.text) {
        last = { text, at: now };
      }
      const hopeless = now > last.at + NO_HOPE && failed.every(({ check }) => check !== "nothing is stuck");
      if (failed.length === 0 || hopeless || now > started + SETTLE_TIMEOUT_MS) {
        return this.#end((now - started) / 1000, failed);
      }
      await timer(LOOK_EVERY);
    }
  }

  /** Deletes all servers. */
  async deleteAll(): Promise<void> {
    const response = await this.#client.ask("GET", "/servers?all_tenants=1");
    for (const { id } of Object.values(response?.body.servers ?? {})) {
      await this.#delete(String(id));
    }
  }

  async #bringBack(deadline: number): Promise<void> {
    const { hosts, controlPlane } = this.#world;
    for (const host of hosts) {
      await host.clearFaults();
      host.thaw();
    }
    controlPlane.thaw();
    if (!controlPlane.running) {
      await controlPlane.start();
    }
    for (const host of hosts) {
      if (host.agent === undefined) {
        host.start();
      }
    }
    const fenced = hosts.filter(({ fenced }) => fenced);
    while (performance.now() < deadline && (await this.#evacuating(fenced))) {
      await timer(LOOK_EVERY);
    }
    await Promise.all(hosts.map((host) => this.#serve(host, deadline)));
    for (const host of hosts) {
      await this.#operator.enable(host);
    }
  }

  /** Restarts a fenced host, which cleans up evacuated servers, before it is forced up. */
  async #serve(host: Host, deadline: number): Promise<void> {
    while (host.fenced && performance.now() < deadline) {
      host.agent?.stop();
      await Promise.race([host.agent?.ended, timer(deadline - performance.now(), undefined, { ref: false })]);
      await host.kill();
      if ((await host.start().serves()) && (await this.#operator.setForcedDown(host, false))) {
        host.fenced = false;
      } else {
        await timer(LOOK_EVERY);
      }
    }
    if (host.agent === undefined) {
      host.start();
    }
    await host.agent?.serves();
  }

  #evacuating(hosts: readonly Host[]): Promise<boolean> {
    return withSnapshot(this.#world, ({ store }) =>
      hosts.some(({ name }) => {
        const open = {
          sourceCompute: name,
          migrationTypes: ["evacuation"],
          statuses: ["accepted", "pre-migrating"],
        } as const;
        return store.migrations.byFilters(open).some(({ instanceUuid }) => !this.#reported.has(instanceUuid));
      }),
    );
  }

  #fresh(findings: Findings): Omit<Settled["failed"][number], "evidence">[] {
    return CHECKS.flatMap((check) =>
      findings[check].filter(({ subject }) => !this.#reported.has(subject)).map((violation) => ({ check, violation })),
    );
  }

  async #end(seconds: number, failed: readonly Omit<Settled["failed"][number], "evidence">[]): Promise<Settled> {
    for (const { violation } of failed) {
      this.#reported.add(violation.subject);
      this.#world.journal.note("settle", `VIOLATION ${violation.what}`, violation.subject);
    }
    const evidence = await withSnapshot(this.#world, ({ store, guests, held }) =>
      failed.map(({ violation: { subject } }) => {
        const instance = store.instances.get(subject, { readDeleted: true });
        const migrations = store.migrations.byFilters({ instanceUuid: subject, readDeleted: true });
        const own = guests.filter(({ uuid }) => uuid === subject);
        const consumers = [subject, ...migrations.map(({ uuid }) => uuid)].map((uuid) => [uuid, held.get(uuid)]);
        return instance === null ? "" : JSON.stringify({ instance, migrations, guests: own, held: consumers });
      }),
    );
    this.#world.journal.note("settle", `${failed.length} violations after ${seconds.toFixed(1)} s`);
    return { seconds, failed: failed.map((one, index) => ({ ...one, evidence: evidence[index] ?? "" })) };
  }

  #deleteAgain(uuid: string, retried: Map<string, number>): void {
    const times = (retried.get(uuid) ?? 0) + 1;
    retried.set(uuid, times);
    if (times <= RETRIES) {
      void this.#delete(uuid);
    }
  }

  async #delete(id: string): Promise<void> {
    const response = await this.#client.act("delete", { method: "DELETE", path: `/servers/${id}` }, id);
    if (response?.status === 204) {
      this.#world.journal.deleteAcknowledged(id);
    }
  }
}
