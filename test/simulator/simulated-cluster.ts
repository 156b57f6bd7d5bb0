import { folderOfConnection, HypervisorFolder } from "../../drivers/fake-libvirt/hypervisor.js";
import { driver } from "../../drivers/fake-libvirt/index.js";
import type { AgentState } from "../../src/agent/context.js";
import type { Agent } from "../../src/agent/lifecycle/agent.js";
import { toStartupRejection } from "../../src/agent/rejections.js";
import { connectToConductor } from "../../src/conductor-client/connect-to-conductor.js";
import type { ConductorConnection } from "../../src/conductor-client/port.js";
import type { ControlPlane } from "../../src/control-plane/control-plane.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import type { Store } from "../../src/control-plane/store/store.js";
import { createFaultyRuntime } from "../../src/faults/fault-injection.js";
import { FaultSet } from "../../src/faults/fault-set.js";
import { RELEASES, type Release } from "../../src/records/index.js";
import { FileFailure } from "../../src/runtime/files.js";
import type { Runtime } from "../../src/runtime/runtime.js";
import { VirtualMachine } from "../../src/simulation/virtual-machine.js";
import { type VirtualRuntime, VirtualWorld } from "../../src/simulation/virtual-world.js";
import { ironicNodes } from "../chaos/oracle/bare-metal.js";
import { type Guest, guestsIn } from "../chaos/oracle/snapshot.js";
import { CloudWatch, REQUESTER_HEADER } from "../fixtures/invariants/cloud-watch.js";
import { driverConfigOf, testAgent } from "../fixtures/world/agent.js";
import { openControlPlane } from "../fixtures/world/control-plane.js";
import { novaConfig } from "../fixtures/world/nova-config.js";
import { IronicHosts } from "./bare-metal/ironic-hosts.js";
import { EvacuationWatch } from "./evacuation-watch.js";
import { faultsButDriver, faultyDriver } from "./faulty-driver.js";
import { ApiWatch } from "./histories/call-watch.js";
import { RecordWrites } from "./histories/record-writes.js";
import { Ticks } from "./histories/ticks.js";
import { hostOptions } from "./host-options.js";
import type { Journal } from "./journal.js";
import { createObserverDeps } from "./observer.js";
import type { Plan } from "./plan.js";
import { killed, type RunningAgent } from "./running-agent.js";
import { makeQuick, StateFiles } from "./state-files.js";

/** A host. Its agents come and go; its state and guests remain. */
export class SimulatedHost {
  readonly name: string;
  readonly machine: VirtualMachine;
  agent: RunningAgent | null = null;
  /** Whether its agent is being started; prevents a concurrent second start. */
  starting = false;
  /** Whether a temporary disturbance of the host is in progress. */
  harmed = false;
  /** The release of its agent. */
  release: Release;
  /** Forced down by the operator. */
  fenced = false;
  /** Whether its disk is full; its agent may then fail to start. */
  diskFull = false;

  constructor(name: string, machine: VirtualMachine, release: Release) {
    this.name = name;
    this.machine = machine;
    this.release = release;
  }

  /**
   * Checks whether the agent may end with this error. If the error requires an action of the operator, it is done here:
   * if its service was deleted and the others are newer, it is upgraded; if guests of a deleted service remain (spec
   * 2.4 G10), they are removed.
   * A full disk excuses only a failure of the start.
   */
  excuses(failure: Error, before: AgentState): boolean {
    const code = toStartupRejection(failure)?.code;
    if (code === "service-too-old") {
      this.release = "master";
    }
    if (code === "guests-on-new-host") {
      this.machine.disk.remove(`${this.hypervisor}/domains`, 0);
    }
    const isFull = before !== "serving" && isForWantOfRoom(failure);
    return (
      isFull || code === "service-too-old" || code === "guests-on-new-host" || EXPECTED_EXIT_ERRORS.test(failure.name)
    );
  }

  get statePath(): string {
    return `/state/${this.name}`;
  }

  get hypervisor(): string {
    return `/hypervisors/${this.name}`;
  }

  get serves(): boolean {
    return this.agent?.agent.state === "serving";
  }
}

/** The driver may have wrapped the error. */
function isForWantOfRoom(failure: unknown): boolean {
  if (!(failure instanceof Error)) {
    return false;
  }
  return (failure instanceof FileFailure && failure.code === "ENOSPC") || isForWantOfRoom(failure.cause);
}

interface AgentPlace {
  readonly process: string;
  /** Another agent of the host may be running. */
  readonly isTwin?: boolean;
  /** Default: the host's. */
  readonly name?: string;
  readonly statePath?: string;
}

/** Errors with which an agent may end: another one serves its host, or the conductor did not respond in time. */
const EXPECTED_EXIT_ERRORS = /HostLeaseLost|HostLeaseHeld|AgentStopped|MessagingTimeout/;

/** A control plane and agents as processes of one virtual world, on a database that outlives them. */
export class SimulatedCluster {
  readonly world: VirtualWorld;
  readonly hosts: readonly SimulatedHost[];
  readonly ironic: IronicHosts;
  /** The uuids of Ironic's nodes if none is removed. */
  nodes: readonly string[] = [];
  readonly watch = new CloudWatch({ probes: false });
  readonly evacuations: EvacuationWatch;
  readonly ticks = new Ticks();
  readonly writes = new RecordWrites(this.ticks);
  readonly apiWatch = new ApiWatch(() => this.#controlPlane?.started.store ?? null);
  /** Unexpected events. */
  readonly unexplained: string[] = [];
  readonly plan: Plan;
  readonly #directory = stateDir("/cluster", "/");
  readonly #stateFiles: StateFiles;
  #controlPlane: { readonly runtime: VirtualRuntime; readonly started: ControlPlane } | null = null;
  #starting = false;
  #port = 0;
  #journal: Journal | null = null;

  /** @param folder a real folder, for {@link StateFiles} */
  constructor(plan: Plan, folder: string) {
    const { seed, deployment } = plan;
    this.plan = plan;
    this.#stateFiles = new StateFiles(folder);
    this.world = new VirtualWorld({
      seed,
      ...(deployment.interleave > 0 ? { interleave: deployment.interleave } : {}),
    });
    this.evacuations = new EvacuationWatch(() => this.world.now);
    this.world.network.latency = deployment.latency;
    // All machines mount the same storage, but have separate processes and clocks.
    const { disk } = this.world.machine;
    this.hosts = Array.from({ length: deployment.hosts }, (_, index) => {
      const name = `devstack${index + 1}`;
      return new SimulatedHost(name, new VirtualMachine(name, disk), index === 0 ? deployment.oldest : "master");
    });
    this.ironic = new IronicHosts({
      plan,
      world: this.world,
      configFile: this.#directory.ironicConfig,
      connect: (runtime) => this.connect(runtime),
      note: (process, what) => this.#journal?.note(process, what),
      unexplained: (what) => this.unexplained.push(what),
    });
  }

  /** The folder with the faults of the embedded Ironic. */
  get ironicFolder(): string {
    return this.#directory.ironic;
  }

  get cloudsFile(): string {
    return this.#directory.cloudsFile;
  }

  get store(): Store {
    if (this.#controlPlane === null) {
      throw new Error("the control plane does not run");
    }
    return this.#controlPlane.started.store;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get controlPlaneRuns(): boolean {
    return this.#controlPlane?.runtime.alive === true;
  }

  /** Starts a process that is never killed. */
  spawn(name: string): VirtualRuntime {
    return this.world.spawn({ name });
  }

  async open(journal: Journal): Promise<void> {
    this.#journal = journal;
    const observer = this.spawn("observer");
    const store = await this.#startControlPlane();
    this.watch.begin(store, createObserverDeps(observer, this.world.machine.disk));
    if (this.plan.deployment.doubled) {
      store.services.create({ host: "pike", binary: "nova-compute", topic: "compute", version: 22 });
    }
    this.nodes = ironicNodes(store).map(({ uuid }) => uuid);
    await Promise.all([
      ...this.hosts.map((host) => this.startAgent(host)),
      ...this.ironic.all.map((host) => this.ironic.start(host)),
    ]);
  }

  async startControlPlane(): Promise<void> {
    if (this.#starting || this.controlPlaneRuns) {
      return;
    }
    this.#starting = true;
    this.#buryControlPlane();
    try {
      this.watch.evidence.follow(await this.#startControlPlane());
    } finally {
      this.#starting = false;
    }
  }

  async #startControlPlane(): Promise<Store> {
    const runtime = this.world.spawn({ name: "control-plane" });
    const { sameHostResize, reclaimInterval, quirks, nodes } = this.plan.deployment;
    const started = await openControlPlane({
      runtime: this.apiWatch.runtime(this.watch.placementOf(runtime)),
      directory: { ...this.#directory, database: this.#stateFiles.next() },
      port: this.#port,
      allowResizeToSameHost: sameHostResize,
      reclaimInstanceInterval: reclaimInterval,
      upstreamQuirks: new Set(quirks),
      // Nodes that were deleted are not created again when the control plane restarts.
      ironicNodes: this.#journal !== null && this.nodes.length > 0 ? 0 : nodes,
    });
    makeQuick(started.store);
    this.#controlPlane = { runtime, started };
    this.evacuations.follow(started.store);
    this.writes.follow(started.store);
    this.#port = Number(new URL(started.url).port);
    return started.store;
  }

  /** Kills the control plane, as `kill -9`, now or after a number of adapter calls. Uncommitted changes are lost. */
  killControlPlane(adapterCalls = 0): void {
    const { runtime } = this.#controlPlane ?? {};
    if (adapterCalls > 0) {
      runtime?.killAfter(adapterCalls);
    } else {
      runtime?.kill();
    }
  }

  /** Ends the control plane, and closes its database: the virtual world cannot release this handle. */
  #buryControlPlane(): void {
    this.#controlPlane?.runtime.kill();
    this.#controlPlane?.started.store.close();
    this.#controlPlane = null;
    this.writes.loses();
  }

  /** Returns the guests of its hypervisor. */
  guestsOf({ name }: SimulatedHost, runtime: VirtualRuntime): Promise<readonly Guest[]> {
    return guestsIn(new HypervisorFolder(folderOfConnection(`fake-libvirt:///hypervisors/${name}`)), name, runtime);
  }

  async startAgent(host: SimulatedHost): Promise<void> {
    if (host.starting) {
      return;
    }
    host.starting = true;
    try {
      host.agent = await this.#makeAgent(host, { process: `agent-${host.name}` });
    } finally {
      host.starting = false;
    }
    if (host.agent) {
      await this.#run(host, host.agent);
    }
  }

  /** Starts another agent for the same host, while the first one may be running. */
  async startTwin(host: SimulatedHost): Promise<void> {
    const running = await this.#makeAgent(host, { process: `twin-${host.name}`, isTwin: true });
    if (running === null) {
      return;
    }
    await this.#run(host, running);
    if (running.agent.state === "serving") {
      host.agent?.runtime.kill();
      host.agent = running;
    }
  }

  /**
   * Starts an agent on a host's machine and hypervisor that must not serve: its name or its state is not the host's.
   * It is killed when it has rejected the start, or after a minute.
   */
  async startImpostor(host: SimulatedHost, as: { readonly name: string; readonly statePath: string }): Promise<void> {
    const running = await this.#makeAgent(host, { process: `impostor-${host.name}`, ...as });
    if (running === null) {
      return;
    }
    const { agent, runtime } = running;
    await Promise.race([agent.start().catch(() => undefined), this.spawn("clock").timers.sleep(60_000)]);
    const { failure } = agent;
    this.#journal?.note(runtime.name, failure === null ? agent.state : `${failure.name}: ${failure.message}`);
    if (agent.state === "serving") {
      this.unexplained.push(`an agent that calls itself ${as.name} serves with the hypervisor of ${host.name}`);
    }
    runtime.kill();
  }

  async #run(host: SimulatedHost, running: RunningAgent): Promise<void> {
    const { agent, runtime } = running;
    let before = agent.state;
    agent.onState((state) => {
      const { failure } = agent;
      // A driver failure in the clean-up after evacuations ends a start (spec 3.1).
      const isFault = before === "cleaning" && failure?.name === "FaultInjected";
      const last = before;
      before = state;
      this.#journal?.note(runtime.name, failure === null ? state : `${state}: ${failure.name}: ${failure.message}`);
      if (state === "failed" && failure !== null && !isFault && !host.excuses(failure, last)) {
        this.unexplained.push(`the agent of ${host.name} ended: ${failure.name}: ${failure.message}`);
      }
      if ((state === "failed" || state === "stopped") && host.agent === running) {
        host.agent = null;
      }
    });
    await Promise.race([agent.start().catch(() => undefined), killed(runtime)]);
  }

  /** Returns null if the process was killed before it had connected. */
  async #makeAgent(host: SimulatedHost, as: AgentPlace): Promise<RunningAgent | null> {
    const { process, name = host.name, statePath = host.statePath, isTwin = false } = as;
    const bare = this.world.spawn({ name: process, machine: host.machine });
    const faults = new FaultSet(bare);
    const runtime = createFaultyRuntime(bare, faults);
    const connection = await Promise.race([this.connect(runtime), killed(bare)]);
    if (connection === null) {
      return null;
    }
    // An agent with another name is not watched: its effects are detected on the servers.
    const watch = name === host.name ? this.watch : null;
    const bareSession = this.writes.session(connection.host(name));
    const session = watch?.session(bareSession) ?? bareSession;
    const index = this.hosts.indexOf(host);
    const compiled = novaConfig(name, statePath, hostOptions(this.plan, index), driver);
    const hangs = faultyDriver(driver, faults);
    const agent = testAgent({
      host: name,
      compiled,
      runtime,
      session,
      faults: faultsButDriver(faults),
      driver: watch?.driver(name, hangs, driverConfigOf(compiled, driver)) ?? hangs,
      ...(watch ? { factories: { tracker: watch.tracker(bare) } } : {}),
      serviceVersion: RELEASES[host.release],
      http: withCallerHeader(runtime, name),
    });
    if (watch) {
      whenItActs(agent, isTwin, () => watch.started(agent));
    }
    return { agent, runtime: bare, faults };
  }

  /** Connects a process to the conductor. */
  async connect(runtime: Runtime): Promise<ConductorConnection> {
    const joinToken = ((await runtime.files.readIfPresent(this.#directory.joinTokenFile)) ?? "").trim();
    return connectToConductor({ url: `ws://127.0.0.1:${this.#port}/conductor`, joinToken, runtime });
  }

  close(): void {
    for (const { agent } of [...this.hosts, ...this.ironic.all]) {
      agent?.runtime.kill();
    }
    this.#buryControlPlane();
  }
}

/**
 * Runs `action` when the agent begins to act for its host. A rejected twin never does; until then, changes are caused
 * by the other agent.
 */
function whenItActs(agent: Agent, isTwin: boolean, action: () => void): void {
  if (!isTwin) {
    action();
    return;
  }
  const forget = agent.onState((state) => {
    if (state === "cleaning") {
      forget();
      action();
    }
  });
}

/** Adds the requesting host to each request, for the watches. */
function withCallerHeader({ http }: Runtime, host: string): Runtime["http"] {
  return {
    close: () => http.close(),
    request: (request) => http.request({ ...request, headers: { ...request.headers, [REQUESTER_HEADER]: host } }),
  };
}
