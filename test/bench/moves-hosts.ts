import { createAgentHosts, openMetrics, UnhandledDriverErrors } from "../../src/cli/agent/host-lifecycle.js";
import type { Hosts } from "../../src/cli/agent/hosts.js";
import { type LoadedHosts, loadHosts } from "../../src/cli/agent/load-config.js";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { connectToConductor } from "../../src/conductor-client/connect-to-conductor.js";
import type { HostAction } from "../../src/conductor-client/methods/session.js";
import type { ConductorConnection } from "../../src/conductor-client/port.js";
import { conductorUrl } from "../../src/control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { LocalCloud } from "../process/support/local-cloud.js";
import { countTraffic, type TrafficCounts } from "./counted-deps.js";

/** Capacity for all servers of the benchmark on any host, and no limit of concurrent operations. */
const OPTIONS = [
  ["fake_libvirt", "vcpus", "256"],
  ["fake_libvirt", "memory_mb", "1048576"],
  ["fake_libvirt", "disk_gb", "100000"],
  ["DEFAULT", "max_concurrent_live_migrations", "10"],
] as const;

/** The pool of `compute-agent --host 'bench[1-1000]'` in this process, with counted traffic. */
export class BenchHosts {
  readonly names: readonly string[];
  readonly #meter = countTraffic(createNodeRuntime({ logger: quietLogger }));
  #connection: ConductorConnection | undefined;
  #hosts: Hosts | undefined;

  constructor(count: number) {
    this.names = Array.from({ length: count }, (_, index) => `bench${index + 1}`);
  }

  get counts(): TrafficCounts {
    return this.#meter.counts();
  }

  /** @param progress called with the number of serving hosts */
  async start(cloud: LocalCloud, progress: (serving: number) => void = () => undefined): Promise<void> {
    const { runtime } = this.#meter;
    const joinToken = await cloud.joinToken();
    const connection = connectToConductor({ url: conductorUrl(cloud), joinToken, runtime, version: "bench" });
    this.#connection = connection;
    await connection.connected();
    const loaded = await this.#load(cloud.stateDir);
    const shared = {
      runtime,
      connection,
      outlet: await openMetrics(undefined, runtime),
      unhandledErrors: new UnhandledDriverErrors(quietLogger, (reason) => {
        throw reason;
      }),
      traceDriver: false,
      serviceVersion: connection.serviceVersion,
    };
    let [serving, onProgress] = [0, progress];
    const onServing = () => {
      serving += 1;
      onProgress(serving);
    };
    const observe = () => ({ onServing });
    const hosts = createAgentHosts(loaded, shared, { timers: runtime.timers, observe, onState: () => undefined });
    this.#hosts = hosts;
    await hosts.add(this.names);
    // Restarted hosts are already counted.
    onProgress = () => undefined;
    const failed = hosts.statuses.filter(({ state }) => state !== "serving");
    if (failed.length > 0) {
      throw new Error(`${failed.length} hosts did not start: ${failed[0]?.host}: ${failed[0]?.detail}`);
    }
  }

  /** Performs the action on each host, like `compute-agent host kill` and so on. */
  async control(hosts: readonly string[], action: HostAction): Promise<void> {
    await Promise.all(hosts.map((host) => this.#hosts?.control(host, action)));
  }

  async dispose(): Promise<void> {
    await this.#hosts?.stop();
    await this.#connection?.close();
    await this.#meter.runtime.http.close();
  }

  #load(stateDir: string): Promise<LoadedHosts> {
    const option = OPTIONS.map(([section, name, value]) => ({ section, option: name, value, flag: "bench" }));
    const host = this.names.join(",");
    const options = { host, stateDir, configFile: [], configDir: [], option, logFormat: "pretty" } as const;
    return loadHosts(options, this.#meter.runtime.files, null);
  }
}
