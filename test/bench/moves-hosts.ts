import PQueue from "p-queue";
import type { Agent } from "../../src/agent/life/agent.js";
import { type LoadedHosts, loadHosts } from "../../src/cli/agent/load-config.js";
import { quietLogger } from "../../src/cli/ui/quiet-logger.js";
import { conductorUrl } from "../../src/cluster/local/state-dir.js";
import { connectToConductor } from "../../src/conductor/connect-to-conductor.js";
import type { ConductorConnection } from "../../src/conductor/port.js";
import { KnownNames } from "../../src/placement/known-names.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { testAgent } from "../fixtures/world/agent.js";
import type { LocalCloud } from "../process/support/local-cloud.js";
import { countedDoors, type DoorCounts } from "./counted-doors.js";

/** Room for all servers of the benchmark on any one host, and no limit on what runs at a time. */
const OPTIONS = [
  ["fake_libvirt", "vcpus", "256"],
  ["fake_libvirt", "memory_mb", "1048576"],
  ["fake_libvirt", "disk_gb", "100000"],
  ["DEFAULT", "max_concurrent_live_migrations", "10"],
] as const;

/** Hosts that start at a time. */
const STARTS = 100;

/** Agents of many hosts in this process, over one connection. */
export class BenchHosts {
  readonly names: readonly string[];
  readonly #doors = countedDoors(createNodeRuntime({ logger: quietLogger }));
  readonly #agents = new Map<string, Agent>();
  readonly #connections: ConductorConnection[] = [];
  readonly #known = new KnownNames();

  constructor(count: number) {
    this.names = Array.from({ length: count }, (_, index) => `bench${index + 1}`);
  }

  get counts(): DoorCounts {
    return this.#doors.counts();
  }

  /** @param progress called with each host that serves */
  async start(cloud: LocalCloud, progress: (serving: number) => void = () => undefined): Promise<void> {
    const joinToken = await cloud.joinToken();
    const connection = connectToConductor({
      url: conductorUrl(cloud),
      joinToken,
      runtime: this.#doors.runtime,
      version: "bench",
    });
    this.#connections.push(connection);
    await connection.connected();
    const loaded = await this.#load(cloud.stateDir);
    let serving = 0;
    await new PQueue({ concurrency: STARTS }).addAll(
      this.names.map((host) => async () => {
        await this.#startOne(host, loaded, connection);
        serving += 1;
        progress(serving);
      }),
    );
  }

  /** The host is gone without a word, as far as the others can tell. */
  async stop(host: string): Promise<void> {
    await this.#agents.get(host)?.stop();
    this.#agents.delete(host);
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.#doors.runtime.http.close();
  }

  /** As an agent's process that serves all of them. */
  #load(stateDir: string): Promise<LoadedHosts> {
    const option = OPTIONS.map(([section, name, value]) => ({ section, option: name, value, flag: "bench" }));
    const host = this.names.join(",");
    const options = { host, stateDir, configFile: [], configDir: [], option, logFormat: "pretty" } as const;
    return loadHosts(options, this.#doors.runtime.files, null);
  }

  async #startOne(host: string, loaded: LoadedHosts, connection: ConductorConnection): Promise<void> {
    const { runtime } = this.#doors;
    const { compiled, driver } = loaded.of(host);
    const session = connection.host(host);
    const agent = testAgent({ host, compiled, runtime, session, driver, known: this.#known });
    this.#agents.set(host, agent);
    await agent.start();
  }
}
