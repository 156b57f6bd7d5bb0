import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RealNova } from "../peers/real-nova/real-nova.js";
import { eventually } from "../process/support/cloud.js";
import { Program } from "../process/support/program.js";
import { groupMembers } from "./processes.js";

/** Capacity for all servers of the benchmark. */
const ROOM = "vcpus = 1000\nmemory_mb = 8192000\ndisk_gb = 600000\n";

/** Hosts of one kind under a real Nova. */
export abstract class BenchComputes {
  abstract readonly name: string;
  protected readonly nova: RealNova;
  #hosts: readonly string[] = [];

  constructor(nova: RealNova) {
    this.nova = nova;
  }

  /** Starts the hosts and waits until each is up. @returns milliseconds from the first start until all have an inventory */
  async start(hosts: readonly string[]): Promise<number> {
    this.#hosts = hosts;
    await this.prepare(hosts);
    const [began, inventories] = await Promise.all([this.launch(hosts), this.#haveInventories(hosts)]);
    await this.#areUp(hosts);
    return inventories - began;
  }

  /** Restarts stopped hosts. */
  async startAgain(hosts: readonly string[]): Promise<void> {
    await this.launch(hosts);
  }

  /** Stops all hosts and deletes their services. */
  async dispose(): Promise<void> {
    await this.stop(this.#hosts);
    await this.nova.discover();
    await Promise.all(this.#hosts.map((host) => this.nova.operator.deleteService(host)));
    await Promise.all(this.#hosts.map((host) => rm(this.nova.statePath(host), { recursive: true, force: true })));
    this.#hosts = [];
  }

  abstract pids(): Promise<readonly number[]>;
  abstract stop(hosts: readonly string[]): Promise<void>;
  /** @returns time of the first start, as `Date.now` milliseconds */
  protected abstract launch(hosts: readonly string[]): Promise<number>;
  protected abstract prepare(hosts: readonly string[]): Promise<void>;

  /**
   * Waits for inventories, since a service has a record earlier than its node has an inventory.
   * @returns time of the observation
   */
  async #haveInventories(hosts: readonly string[]): Promise<number> {
    await eventually(
      async () => {
        const { body } = await this.nova.placement("GET", "/resource_providers?resources=VCPU:1");
        return new Set(Object.values(body.resource_providers ?? {}).map(({ name }) => String(name)));
      },
      (names) => hosts.every((host) => names.has(host)),
    );
    return Date.now();
  }

  async #areUp(hosts: readonly string[]): Promise<void> {
    await eventually(
      async () => {
        const { body } = await this.nova.compute("GET", "/os-services?binary=nova-compute");
        const up = Object.values(body.services ?? {}).filter(({ state }) => String(state) === "up");
        return new Set(up.map(({ host }) => String(host)));
      },
      (up) => hosts.every((host) => up.has(host)),
    );
  }
}

/** Agents, each with its own configuration file. */
abstract class Ours extends BenchComputes {
  protected readonly files = new Map<string, string>();
  readonly #more: string;

  /** @param more appended to each configuration */
  constructor(nova: RealNova, more = "") {
    super(nova);
    this.#more = more;
  }

  protected async prepare(hosts: readonly string[]): Promise<void> {
    for (const host of hosts) {
      const uri = `fake-libvirt://${this.nova.hypervisor(host)}`;
      const more = `${this.#more}[fake_libvirt]\nconnection_uri = ${uri}\n${ROOM}`;
      this.files.set(host, await this.nova.plane.writeComputeConfig(host, "fake-libvirt", more));
    }
  }
}

/** A process per host. */
export class OurProcesses extends Ours {
  readonly name = "ours";
  readonly #programs = new Map<string, Program>();

  async pids(): Promise<readonly number[]> {
    return [...this.#programs.values()].map(({ pid }) => pid);
  }

  async stop(hosts: readonly string[]): Promise<void> {
    await Promise.all(hosts.map((host) => this.#programs.get(host)?.stop()));
    for (const host of hosts) {
      this.#programs.delete(host);
    }
  }

  protected async launch(hosts: readonly string[]): Promise<number> {
    const began = Date.now();
    const started = hosts.map((host) => {
      const program = new Program("compute-agent", ["--config-file", this.files.get(host) ?? ""]);
      this.#programs.set(host, program);
      return program.printed(/\bis serving\b/);
    });
    await Promise.all(started);
    return began;
  }
}

/** A pool: one process for all hosts. */
export class OurComputes extends Ours {
  readonly name = "together";
  #process: Program | null = null;

  async pids(): Promise<readonly number[]> {
    return this.#process === null ? [] : [this.#process.pid];
  }

  async stop(_hosts: readonly string[]): Promise<void> {
    const stopped = this.#process;
    this.#process = null;
    if (stopped !== null) {
      await stopped.stop();
      await this.nova.plane.keep("agents.out", `${stopped.stdout}${stopped.stderr}`);
    }
  }

  protected async launch(hosts: readonly string[]): Promise<number> {
    const began = Date.now();
    const [first = ""] = hosts;
    const own = [
      `DEFAULT.state_path=${this.nova.statePath("$host")}`,
      `fake_libvirt.connection_uri=fake-libvirt://${this.nova.hypervisor("$host")}`,
    ];
    const options = own.flatMap((option) => ["-o", option]);
    const named = ["--config-file", this.files.get(first) ?? "", "--host", hosts.join(",")];
    this.#process = new Program("compute-agent", [...named, ...options]);
    return began;
  }

  /** Also waits until each host has sent a heartbeat. */
  override async startAgain(hosts: readonly string[]): Promise<void> {
    const before = await this.#beats();
    await super.startAgain(hosts);
    await eventually(
      () => this.#beats(),
      (beats) => hosts.every((host) => (beats.get(host) ?? 0) > (before.get(host) ?? 0)),
    );
  }

  async #beats(): Promise<ReadonlyMap<string, number>> {
    const found = await this.nova.plane.rows("select host, report_count from nova_cell1.services");
    return new Map(found.map((row) => row.split("\t")).map(([host = "", count]) => [host, Number(count)]));
  }
}

/** Real nova-computes with nova's fake driver. */
export class RealComputes extends BenchComputes {
  readonly name = "real";
  #hosts: readonly string[] = [];

  pids(): Promise<readonly number[]> {
    return Promise.all(this.#hosts.map((host) => this.nova.processOf(`compute-${host}`))).then(groupMembers);
  }

  async stop(hosts: readonly string[]): Promise<void> {
    await this.nova.plane.shell(`for n in ${hosts.join(" ")}; do stop compute-$n KILL & done; wait`);
    this.#hosts = this.#hosts.filter((host) => !hosts.includes(host));
  }

  protected async prepare(): Promise<void> {}

  /** The start script writes the configuration first. */
  protected async launch(hosts: readonly string[]): Promise<number> {
    this.#hosts = [...this.#hosts, ...hosts];
    await Promise.all(hosts.map((host) => this.nova.spawnCompute(host)));
    const started = hosts.map((host) => stat(join(this.nova.plane.state, "run", `compute-${host}.pid`)));
    return Math.min(...(await Promise.all(started)).map(({ mtimeMs }) => mtimeMs));
  }
}
