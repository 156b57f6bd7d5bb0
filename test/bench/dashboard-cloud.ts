import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { domainToXml } from "../../drivers/fake-libvirt/domain-xml.js";
import { HypervisorFolder } from "../../drivers/fake-libvirt/hypervisor.js";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { connectToConductor } from "../../src/conductor-client/connect-to-conductor.js";
import type { ConductorConnection } from "../../src/conductor-client/port.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { fillCloud, hostName, type Size, serverId } from "../fixtures/large-cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { PACKAGE_ROOT, Program } from "../process/support/program.js";
import { usageOf } from "./processes.js";

const LOOP_WATCH = join(PACKAGE_ROOT, "test/bench/loop-watch.cjs");

/**
 * A control plane of many hosts and servers in a separate process, with the real server part of the dashboard. Each host
 * has a hypervisor folder.
 */
export class DashboardCluster {
  readonly #size: Size;
  readonly #stateDir: string;
  readonly #controlPlane: Program;
  readonly #cloud: LocalCloud;
  readonly #connection: ConductorConnection;

  private constructor(
    size: Size,
    folder: string,
    controlPlane: Program,
    cloud: LocalCloud,
    connection: ConductorConnection,
  ) {
    this.#size = size;
    this.#stateDir = folder;
    this.#controlPlane = controlPlane;
    this.#cloud = cloud;
    this.#connection = connection;
  }

  static async start(size: Size): Promise<DashboardCluster> {
    const folder = await mkdtemp(join(tmpdir(), "bench-window-"));
    await fillCloud(stateDir(folder, "/").database, size);
    fillHypervisors(folder, size);
    const controlPlane = new Program("compute-cluster", ["control-plane", "--state-dir", folder, "--port", "0"], {
      NODE_OPTIONS: `--require ${LOOP_WATCH}`,
    });
    const [, url = ""] = await controlPlane.printed(/listening on (http:\S+)/);
    const runtime = createNodeRuntime({ logger: quietLogger });
    const joinToken = (await readFile(join(folder, "join-token"), "utf8")).trim();
    const connection = connectToConductor({ url, joinToken, runtime });
    await connection.connected();
    return new DashboardCluster(size, folder, controlPlane, LocalCloud.over(folder, url), connection);
  }

  /** Returns a link that opens the dashboard once. */
  async link(): Promise<string> {
    const open = new Program("compute-cluster", ["open", "--no-browser", "--state-dir", this.#stateDir]);
    await open.exited;
    return open.stdout.trim();
  }

  /** Returns the longest blocking of the control plane's event loop since the previous call, in milliseconds. */
  async longestHold(): Promise<number> {
    const findLoopReports = () => this.#controlPlane.stderr.match(/the loop was held for [\d.]+ ms/g) ?? [];
    const before = findLoopReports().length;
    this.#controlPlane.signal("SIGUSR2");
    while (findLoopReports().length === before) {
      await pause(20);
    }
    return Number(/[\d.]+/.exec(findLoopReports().at(-1) ?? "")?.[0]);
  }

  /** Returns the control plane's processor time in seconds and its memory in megabytes. */
  usage(): ReturnType<typeof usageOf> {
    return usageOf([this.#controlPlane.pid]);
  }

  /** Changes records as agents do, alternating between heartbeats and changes of servers. */
  async change(index: number): Promise<void> {
    const { hosts, servers } = this.#size;
    const host = this.#connection.host("bench", { lease: false });
    if (index % 2 === 0) {
      await host.call("service_report_state", { id: 1 + ((index * 7919) % hosts) });
      return;
    }
    const taskState = index % 4 === 1 ? "rebooting" : null;
    await host.call("instance_save", { uuid: serverId((index * 7907) % servers), changes: { taskState } });
  }

  /** Finds the first host's service. Returns a function that disables it with a reason through the Compute API. */
  async disablingFirst(): Promise<(reason: string) => Promise<void>> {
    const { body } = await this.#cloud.compute("GET", `/os-services?host=${hostName(0)}`);
    const path = `/os-services/${Object.values(body.services ?? {})[0]?.id}`;
    return async (reason) => {
      await this.#cloud.compute("PUT", path, { status: "disabled", disabled_reason: reason });
    };
  }

  async stop(): Promise<void> {
    await this.#connection.close();
    await this.#controlPlane.kill();
    await rm(this.#stateDir, { recursive: true, force: true });
  }
}

/** Creates the files of fake-libvirt hypervisors. */
function fillHypervisors(folder: string, { hosts, servers }: Size): void {
  const directory = stateDir(folder, "/");
  const folders = Array.from({ length: hosts }, (_, n) => {
    mkdirSync(directory.agent(hostName(n)), { recursive: true });
    const hypervisor = new HypervisorFolder(directory.hypervisor(hostName(n)));
    mkdirSync(hypervisor.domains, { recursive: true });
    mkdirSync(hypervisor.states);
    return hypervisor;
  });
  for (let n = 0; n < servers; n += 1) {
    const hypervisor = folders[n % hosts];
    const uuid = serverId(n);
    const domain = {
      uuid,
      name: `instance-${n.toString(16).padStart(8, "0")}`,
      memoryMb: 512,
      vcpus: 1,
      cpuModel: "Nehalem",
    };
    const bare = { disks: [], volumes: [], devices: [] };
    const xml = domainToXml({ ...domain, ...bare, nova: null, leftBehind: false, awaited: false });
    writeFileSync(hypervisor?.domainFile(uuid) ?? "", xml);
    writeFileSync(hypervisor?.stateFile(uuid) ?? "", "running\n");
  }
}
