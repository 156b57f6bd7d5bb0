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

/** A control plane of many hosts and servers as a process of its own, with the window's real server part; each host has its hypervisor's folder. */
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

  /** A link that opens the window, once. */
  async link(): Promise<string> {
    const open = new Program("compute-cluster", ["open", "--no-browser", "--state-dir", this.#stateDir]);
    await open.exited;
    return open.stdout.trim();
  }

  /** Milliseconds of the longest hold of the control plane's loop since this was asked last. */
  async longestHold(): Promise<number> {
    const findLoopReports = () => this.#controlPlane.stderr.match(/the loop was held for [\d.]+ ms/g) ?? [];
    const before = findLoopReports().length;
    this.#controlPlane.signal("SIGUSR2");
    while (findLoopReports().length === before) {
      await pause(20);
    }
    return Number(/[\d.]+/.exec(findLoopReports().at(-1) ?? "")?.[0]);
  }

  /** Seconds of processor time that the control plane has taken, and megabytes that it has. */
  usage(): ReturnType<typeof usageOf> {
    return usageOf([this.#controlPlane.pid]);
  }

  /** The records change as agents change them: every other time a heartbeat, else a server that something is done to. */
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

  /** Finds the first host's service, and returns what asks the Compute API to disable it for a reason. */
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

/** What fake-libvirt would have made. */
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
    const xml = domainToXml({ ...domain, disks: [], devices: [], nova: null, leftBehind: false, awaited: false });
    writeFileSync(hypervisor?.domainFile(uuid) ?? "", xml);
    writeFileSync(hypervisor?.stateFile(uuid) ?? "", "running\n");
  }
}
