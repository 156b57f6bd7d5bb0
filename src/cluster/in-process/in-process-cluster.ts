import { mirrorInPlacement } from "../../cli/cluster/manage-session.js";
import { readSnapshotMetadata } from "../../cli/cluster/snapshot/live-snapshot.js";
import { noHeartbeatText, untilReady } from "../../cli/cluster/until-ready.js";
import { quietLogger } from "../../cli/ui/logging.js";
import { isAtRest, reportAll } from "../../control-plane/at-rest.js";
import { tokensOf } from "../../control-plane/identity/tokens/token-store.js";
import { clientEnvironment, type StateDir } from "../../control-plane/local/state-dir.js";
import { withoutSecrets } from "../../control-plane/request-log/redaction.js";
import type { HandledRequest } from "../../control-plane/request-log/request-log.js";
import { finishInterruptedRestore, restoreSnapshot } from "../../control-plane/snapshot/restore.js";
import { savedHosts } from "../../control-plane/snapshot/saved-state.js";
import type { Snapshot, SnapshotMetadata } from "../../control-plane/snapshot/snapshot-file.js";
import { assertSameDrivers, assertSupportedDrivers, Snapshots } from "../../control-plane/snapshot/snapshots.js";
import { expandHosts } from "../../records/host-names.js";
import { nodeFetch } from "../../runtime/node/node-fetch.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import { LocalWorld } from "../../simulation/local/local-world.js";
import { createVirtualLogger } from "../../simulation/virtual-logger.js";
import { CloudAccess, credentialsIn } from "../cloud-access.js";
import type {
  AuditFinding,
  CloudCredentials,
  Cluster,
  Faults,
  HostControl,
  LogLine,
  ObservedRequest,
  RestoreStateOptions,
  StartClusterOptions,
} from "../cluster.js";
import { auditCluster, clusterFaults, onlyOf, SETTLE_TIMEOUT, workOf } from "../cluster-operations.js";
import { assertServing, ClusterParts, whatToStart } from "./cluster-parts.js";
import type { LocalAgents } from "./local-agents.js";
import { PassingTime } from "./passing-time.js";

/** Max number of recorded requests. */
const MAX_REQUESTS = 10_000;

/** Records the last requests that a cluster's APIs have handled. @internal */
export class RequestHistory {
  #all: ObservedRequest[] = [];

  get all(): readonly ObservedRequest[] {
    return this.#all.slice(-MAX_REQUESTS);
  }

  clear(): void {
    this.#all = [];
  }

  readonly keep = ({ mount, request, response, caller }: HandledRequest): void => {
    const { method, headers } = request;
    const secrets = [headers["x-auth-token"], headers["x-subject-token"], response.headers["x-subject-token"]];
    const redacted = withoutSecrets(request.path, request.query, secrets);
    const [path = "", query = ""] = redacted.split("?", 2);
    this.#all.push({
      service: mount.slice(1),
      method,
      path,
      query,
      status: response.status,
      user: caller?.credentials.userName,
      requestId: response.headers["x-openstack-request-id"],
    });
    if (this.#all.length >= 2 * MAX_REQUESTS) {
      this.#all = this.#all.slice(-MAX_REQUESTS);
    }
  };
}

/** A control plane and agents within this process, simulated as separate processes. */
export class InProcessCluster implements Cluster {
  readonly stateDir: string;
  readonly faults: Faults;
  readonly #options: StartClusterOptions;
  readonly #directory: StateDir;
  readonly #isTemporary: boolean;
  readonly #world: LocalWorld;
  readonly #time: PassingTime;
  /** Runtime for observing the cluster as an external process would. */
  readonly #observer: Runtime;
  readonly #requests = new RequestHistory();
  readonly #access = new CloudAccess(this, nodeFetch);
  readonly #snapshots: Snapshots;
  #parts: ClusterParts | undefined;
  /** Serializes operations that replace the complete state. */
  #swapping: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  /**
   * @param place `isTemporary`: the state directory is deleted when the cluster stops, so it need not be consistent
   * then
   */
  constructor(
    options: StartClusterOptions,
    { directory, isTemporary }: { readonly directory: StateDir; readonly isTemporary: boolean },
  ) {
    this.#options = options;
    this.#directory = directory;
    this.#isTemporary = isTemporary;
    this.stateDir = directory.root;
    const { onLog, seed, time = "real" } = options;
    const logger = onLog === undefined ? quietLogger : loggerTo(onLog);
    this.#world = new LocalWorld(logger, { time, onDisk: !isTemporary, ...(seed === undefined ? {} : { seed }) });
    this.#time = new PassingTime(this.#world.time, this.#world.activity, {
      isAtRest: async () => (await this.#faultsSet()) === 0 && isAtRest(this.#running.controlPlane.store),
      skipped: () => reportAll(this.#running.controlPlane.store, (host) => this.#serves(host)),
    });
    this.#observer = this.#world.spawn("test").runtime;
    this.#snapshots = new Snapshots(directory, this.#observer.files);
    this.faults = clusterFaults({
      directory,
      runtime: this.#observer,
      isServed: async (host) => this.#agentsOf(host).state(host).state === "serving",
    });
  }

  /** @throws the reason why the control plane or a host cannot start. */
  async start(): Promise<void> {
    await finishInterruptedRestore(this.#directory, this.#observer.files);
    const what = await whatToStart(this.#options, this.#directory, this.#observer.files);
    const parts = new ClusterParts({
      world: this.#world,
      directory: this.#directory,
      what,
      onRequest: this.#requests.keep,
    });
    this.#parts = parts;
    await this.#time.through(parts.start().then(() => this.#untilReady(this.hostNames)));
    if (what.described !== undefined) {
      await mirrorInPlacement(what.described, this.#directory);
    }
    const metadata = await this.#readMetadata();
    await this.#world.activity.atRest(() => this.#snapshots.save(null, metadata, { onDisk: !this.#isTemporary }));
    if (this.#options.autoAdvance === true) {
      void this.#time.run(() => this.#stopped === undefined && this.#isBusy());
    }
  }

  get url(): string {
    return this.#running.controlPlane.url;
  }

  get env(): Readonly<Record<string, string>> {
    return clientEnvironment(this.#directory);
  }

  get cloudsYaml(): string {
    return this.#running.cloudsYaml;
  }

  get credentials(): CloudCredentials {
    return credentialsIn(this.cloudsYaml);
  }

  token(): Promise<string> {
    return this.#access.token();
  }

  fetch(service: string, path: string, init?: RequestInit): Promise<Response> {
    return this.#access.fetch(service, path, init);
  }

  get hostNames(): readonly string[] {
    return this.#running.agents.flatMap(({ hosts }) => hosts);
  }

  get requests(): readonly ObservedRequest[] {
    return this.#requests.all;
  }

  clearRequests(): void {
    this.#requests.clear();
  }

  get now(): number {
    return this.#time.now;
  }

  advance(seconds: number): Promise<void> {
    return this.#time.advance(seconds);
  }

  hosts(names?: string): HostControl {
    const hosts = names === undefined ? this.hostNames : expandHosts(names);
    const agents = hosts.map((host) => [host, this.#agentsOf(host)] as const);
    const each = (work: (agents: LocalAgents, host: string) => Promise<void>): Promise<void> =>
      this.#time.through(Promise.all(agents.map(([host, one]) => work(one, host))).then(() => undefined));
    return {
      state: async () => {
        const [host, one] = onlyOf(agents);
        return one.state(host).state;
      },
      start: async () => {
        await each(async (one, host) => {
          await one.start([host]);
          assertServing(one, host);
        });
        await this.#time.through(this.#untilReady(hosts));
      },
      stop: () => each((one, host) => one.stop(host)),
      kill: () => each((one, host) => one.kill(host)),
    };
  }

  settled({ timeout = SETTLE_TIMEOUT }: { readonly timeout?: number } = {}): Promise<void> {
    return this.#time.until(() => workOf(this.#directory, this.#observer), timeout * 1000);
  }

  audit(): Promise<readonly AuditFinding[]> {
    return this.#time.through(auditCluster(this.#directory, this.#observer));
  }

  async snapshot(name: string): Promise<void> {
    const metadata = await this.#readMetadata();
    assertSupportedDrivers(metadata.drivers);
    await this.#world.activity.atRest(() => this.#snapshots.save(name, metadata, { onDisk: !this.#isTemporary }));
  }

  restore(name: string, options: RestoreStateOptions = {}): Promise<void> {
    return this.#swap(() => this.#snapshots.read(name), options);
  }

  reset(options: RestoreStateOptions = {}): Promise<void> {
    return this.#swap(() => this.#snapshots.read(null), options);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    await this.#swapping;
    this.#time.stop();
    if (this.#isTemporary) {
      // The state is deleted, so running operations need not complete.
      await this.#parts?.kill();
    } else {
      await this.#time.through(this.#parts?.close() ?? Promise.resolve());
    }
    await this.#world.close();
    if (this.#isTemporary) {
      await new NodeFiles().remove(this.stateDir);
    }
  }

  /** Replaces the state by a saved one. Operations in progress are lost; existing tokens stay valid. */
  async #swap(read: () => Snapshot, { startHosts = false }: RestoreStateOptions): Promise<void> {
    const swap = async (): Promise<void> => {
      const parts = this.#running;
      const snapshot = read();
      const { drivers } = await this.#readMetadata();
      assertSupportedDrivers(drivers);
      assertSameDrivers(snapshot, drivers);
      const port = Number(new URL(parts.controlPlane.url).port);
      const tokens = tokensOf(parts.controlPlane.store.database);
      await parts.kill();
      const options = { now: this.now, onDisk: !this.#isTemporary, startHosts };
      restoreSnapshot(this.stateDir, snapshot, options);
      const started = parts.start({ port, ready: ({ store }) => tokens.putInto(store.database) });
      await this.#time.through(started.then(() => this.#untilReady(this.hostNames)));
    };
    const swapped = this.#swapping.then(swap);
    this.#swapping = swapped.catch(() => undefined);
    await swapped;
  }

  /**
   * Waits until servers can be scheduled to those of the hosts that are serving.
   * @throws {Error} when a host sends no heartbeat
   */
  async #untilReady(hosts: readonly string[]): Promise<void> {
    const [silent] = await untilReady(hosts, {
      hostsToReport: async () => this.#running.controlPlane.hostsToReport(),
      runtime: this.#observer,
    });
    if (silent !== undefined) {
      throw new Error(`host ${silent} is down: ${noHeartbeatText(silent)}`);
    }
  }

  async #readMetadata(): Promise<SnapshotMetadata> {
    const metadata = await readSnapshotMetadata(this.#directory, this.#observer);
    const forcedDown = new Set(
      this.#running.controlPlane.store.services.states("nova-compute").flatMap((service) => {
        return service.forcedDown ? [service.host] : [];
      }),
    );
    const hosts = this.#running.agents.flatMap((agents) =>
      agents.hosts.map((host) => {
        const { state } = agents.state(host);
        return { host, state, pid: null, process: "own", service: { forcedDown: forcedDown.has(host) } };
      }),
    );
    return { ...metadata, hosts: savedHosts(hosts, new Map()) };
  }

  /** @throws {Error} when the cluster does not run */
  get #running(): ClusterParts {
    if (this.#parts === undefined || this.#stopped !== undefined) {
      throw new Error("the cluster does not run");
    }
    return this.#parts;
  }

  #serves(host: string): boolean {
    return this.#running.agents.some((one) => one.state(host).state === "serving");
  }

  async #faultsSet(): Promise<number> {
    const set = await Promise.all([...this.hostNames, "ironic"].map((host) => this.faults.list(host)));
    return set.flat().length;
  }

  /** Returns whether an operation is in progress that needs time to pass. */
  #isBusy(): boolean {
    if (!this.#running.isRunning) {
      return false;
    }
    const { store } = this.#running.controlPlane;
    return store.tasks.count() > 0 || store.instances.busy(1).length > 0 || store.migrations.underWay(1).length > 0;
  }

  /** @throws {Error} when the host does not exist */
  #agentsOf(host: string): LocalAgents {
    const found = this.#running.agents.find(({ hosts }) => hosts.includes(host));
    if (found === undefined) {
      throw new Error(`unknown host ${host}; known hosts: ${this.hostNames.join(", ")}`);
    }
    return found;
  }
}

/** Forwards log lines from level `warn` on. */
function loggerTo(listener: (line: LogLine) => void): Logger {
  return createVirtualLogger((level, message, fields) => {
    if (level === "warn" || level === "error" || level === "fatal") {
      listener({ level, message, fields });
    }
  });
}
