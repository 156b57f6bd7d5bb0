import { createAgent } from "../../src/agent/life/agent.js";
import { NO_METRICS } from "../../src/agent/metrics/metrics.js";
import { loadConfig } from "../../src/cli/agent/load-config.js";
import { reportClient } from "../../src/cli/agent/report-client.js";
import { quietLogger } from "../../src/cli/ui/quiet-logger.js";
import { conductorUrl } from "../../src/cluster/local/state-dir.js";
import { connectToConductor } from "../../src/conductor/connect-to-conductor.js";
import type { ConductorConnection } from "../../src/conductor/port.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { LocalCloud } from "../process/support/local-cloud.js";

/** Room for all servers of the benchmark on any one host, and no limit on what runs at a time. */
const OPTIONS = [
  ["fake_libvirt", "vcpus", "256"],
  ["fake_libvirt", "memory_mb", "1048576"],
  ["fake_libvirt", "disk_gb", "100000"],
  ["DEFAULT", "max_concurrent_live_migrations", "10"],
] as const;

/** Agents of many hosts in this process, over one connection. */
export class BenchHosts {
  readonly names: readonly string[];
  readonly #runtime = createNodeRuntime({ logger: quietLogger });
  readonly #agents = new Map<string, ReturnType<typeof createAgent>>();
  readonly #connections: ConductorConnection[] = [];

  constructor(count: number) {
    this.names = Array.from({ length: count }, (_, index) => `bench${index + 1}`);
  }

  async start(cloud: LocalCloud): Promise<void> {
    const joinToken = await cloud.joinToken();
    const connection = connectToConductor({
      url: conductorUrl(cloud),
      joinToken,
      runtime: this.#runtime,
      version: "bench",
    });
    this.#connections.push(connection);
    await connection.connected();
    await Promise.all(this.names.map((host) => this.#startOne(host, cloud.stateDir, connection)));
  }

  /** The host is gone without a word, as far as the others can tell. */
  async stop(host: string): Promise<void> {
    await this.#agents.get(host)?.stop();
    this.#agents.delete(host);
  }

  async dispose(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    await Promise.all(this.#connections.map((connection) => connection.close()));
    await this.#runtime.http.close();
  }

  async #startOne(host: string, stateDir: string, connection: ConductorConnection): Promise<void> {
    const option = OPTIONS.map(([section, name, value]) => ({ section, option: name, value, flag: "bench" }));
    const loaded = await loadConfig(
      { host, stateDir, configFile: [], configDir: [], option, logFormat: "pretty" },
      this.#runtime.files,
    );
    const { config } = loaded.compiled;
    const session = connection.host(host);
    const agent = createAgent({
      host,
      config,
      configFiles: loaded.configFiles,
      runtime: this.#runtime,
      session,
      driver: loaded.driver,
      driverConfig: loaded.driverConfig,
      placement: reportClient(config, this.#runtime, session, NO_METRICS),
    });
    this.#agents.set(host, agent);
    await agent.start();
  }
}
