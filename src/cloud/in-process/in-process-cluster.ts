import { audit } from "../../audit/audit.js";
import { chooseCloud } from "../../audit/cloud/choose-cloud.js";
import { openCloud } from "../../audit/cloud/open-cloud.js";
import { controlPlaneConfig } from "../../cli/cluster/control-plane-config.js";
import { mirrorInPlacement } from "../../cli/cluster/file/mirror-in-placement.js";
import { outsideDoor } from "../../cli/cluster/listen.js";
import { withOperatorSession } from "../../cli/cluster/operator-session.js";
import { workLeft } from "../../cli/cluster/wait/judge.js";
import { quietLogger } from "../../cli/ui/quiet-logger.js";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.js";
import { clientEnvironment, conductorUrl, type StateDir } from "../../cluster/local/state-dir.js";
import { expandHosts } from "../../records/host-range.js";
import { nodeDigests } from "../../runtime/node/node-digests.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { nodeKeys } from "../../runtime/node/node-keys.js";
import type { Runtime } from "../../runtime/runtime.js";
import { type LocalProcess, LocalWorld } from "../../simulation/local/local-world.js";
import type {
  AuditFinding,
  Cluster,
  Faults,
  HostControl,
  HostState,
  SeenRequest,
  StartClusterOptions,
} from "../cluster.js";
import { clusterFaults } from "../faults.js";
import { loggerTo } from "../logs.js";
import { LocalAgents } from "./local-agents.js";
import { PassingTime } from "./passing-time.js";
import { SeenRequests } from "./seen-requests.js";
import { type WhatToStart, whatToStart } from "./what-to-start.js";

/** The command by which the conductor's log knows what looks whether all is settled. */
const OPERATOR = "settled";

/** Seconds that a cluster may take to settle. */
const SETTLE_TIMEOUT = 600;

interface RunningControlPlane {
  readonly process: LocalProcess;
  readonly started: ControlPlane;
}

/** A control plane and agents, each as it would be in a process of its own, in this one. */
export class InProcessCluster implements Cluster {
  readonly stateDir: string;
  readonly faults: Faults;
  readonly #options: StartClusterOptions;
  readonly #directory: StateDir;
  readonly #isTemporary: boolean;
  readonly #world: LocalWorld;
  readonly #time: PassingTime;
  /** What looks at the cluster from outside. */
  readonly #looker: Runtime;
  readonly #requests = new SeenRequests((token) => this.#controlPlane?.started.whose(token));
  #agents: readonly LocalAgents[] = [];
  #controlPlane: RunningControlPlane | undefined;
  #joinToken = "";
  #cloudsYaml = "";
  #stopped: Promise<void> | undefined;

  /** @param place `isTemporary`: nobody wants to know what it was, once it has stopped */
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
    this.#world = new LocalWorld(logger, { time, ...(seed === undefined ? {} : { seed }) });
    this.#time = new PassingTime(this.#world.time, this.#world.activity);
    this.#looker = this.#world.spawn("test").runtime;
    this.faults = clusterFaults({
      directory,
      runtime: this.#looker,
      isServed: (host) => this.#agentsOf(host).state(host).state === "serving",
    });
  }

  /** @throws what a control plane refuses to start for, or why a host does not serve. */
  async start(): Promise<void> {
    const { files } = this.#looker;
    const what = await whatToStart(this.#options, this.#directory, files);
    await this.#time.through(this.#startControlPlane(what));
    const place = {
      world: this.#world,
      directory: this.#directory,
      conductor: () => conductorUrl({ url: this.url }),
      joinToken: () => this.#joinToken,
    };
    this.#agents = await Promise.all(what.agents.map((plan) => LocalAgents.load(plan, place)));
    await this.#time.through(this.#startAgents(what));
    if (what.described !== undefined) {
      await mirrorInPlacement(what.described, this.#directory);
    }
    if (this.#options.autoAdvance === true) {
      void this.#time.run(() => this.#isBusy());
    }
  }

  get url(): string {
    return this.#running.started.url;
  }

  get env(): Readonly<Record<string, string>> {
    return clientEnvironment(this.#directory);
  }

  get cloudsYaml(): string {
    return this.#cloudsYaml;
  }

  get hostNames(): readonly string[] {
    return this.#agents.flatMap(({ hosts }) => hosts);
  }

  get requests(): readonly SeenRequest[] {
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
      get state(): HostState {
        const [[host, one] = [], ...others] = agents;
        if (host === undefined || one === undefined || others.length > 0) {
          throw new Error(`found ${agents.length} hosts, expected one: each has a state of its own`);
        }
        return one.state(host).state;
      },
      start: () =>
        each(async (one, host) => {
          await one.start([host]);
          refuseFailed(one, host);
        }),
      stop: () => each((one, host) => one.stop(host)),
      kill: () => each((one, host) => one.kill(host)),
    };
  }

  settled({ timeout = SETTLE_TIMEOUT }: { readonly timeout?: number } = {}): Promise<void> {
    const place = { runtime: this.#looker, directory: this.#directory };
    return this.#time.until(() => withOperatorSession(OPERATOR, place, workLeft), timeout * 1000);
  }

  async audit(): Promise<readonly AuditFinding[]> {
    const { files, http, clock } = this.#looker;
    const local = { file: this.#directory.cloudsFile, cloud: "devstack", asked: true };
    const config = await chooseCloud(files, { environment: {}, cwd: this.stateDir, local });
    const found = this.#time.through(
      openCloud(http, config).then((cloud) =>
        audit(cloud, { clock, maxShare: ORPHANED_SHARE, thorough: false, onProgress: () => undefined }),
      ),
    );
    return (await found).findings.map(({ code, subject, explanation }) => ({ code, subject, explanation }));
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.#time.stop();
    const controlPlane = this.#controlPlane;
    if (this.#isTemporary) {
      // Nobody will know what was under way.
      await Promise.all(this.#agents.map((agents) => agents.killAll()));
      await controlPlane?.process.kill();
      controlPlane?.started.store.close();
    } else {
      await this.#time.through(Promise.all(this.#agents.map((agents) => agents.close())));
      await this.#time.through(controlPlane?.started.stop() ?? Promise.resolve());
      await controlPlane?.process.kill();
    }
    await this.#world.close();
    if (this.#isTemporary) {
      await new NodeFiles().remove(this.stateDir);
    }
  }

  async #startControlPlane({ controlPlane: options }: WhatToStart): Promise<void> {
    const process = this.#world.spawn("control-plane", { isSeen: true });
    const { runtime } = process;
    const { files } = runtime;
    const config = await controlPlaneConfig(options, { runtime, cwd: this.stateDir, stateDir: this.stateDir });
    const outside = await outsideDoor(options, this.#directory, runtime, undefined);
    const started = await startControlPlane({
      runtime,
      digests: {
        ...nodeDigests,
        scrypt: (...given) => this.#world.activity.during(() => nodeDigests.scrypt(...given)),
      },
      keys: nodeKeys,
      directory: this.#directory,
      port: options.port ?? 0,
      ironicNodes: options.ironic,
      ...(outside && { outside }),
      ...config,
      onRequest: this.#requests.keep,
    });
    this.#controlPlane = { process, started };
    this.#joinToken = (await files.read(this.#directory.joinTokenFile)).trim();
    this.#cloudsYaml = await files.read(this.#directory.cloudsFile);
  }

  async #startAgents({ inOrder }: WhatToStart): Promise<void> {
    const start = async (agents: LocalAgents): Promise<void> => {
      await agents.start(agents.hosts);
      for (const host of agents.hosts) {
        refuseFailed(agents, host);
      }
    };
    if (!inOrder) {
      await Promise.all(this.#agents.map(start));
      return;
    }
    for (const agents of this.#agents) {
      await start(agents);
    }
  }

  get #running(): RunningControlPlane {
    if (this.#controlPlane === undefined || this.#stopped !== undefined) {
      throw new Error("the cluster does not run");
    }
    return this.#controlPlane;
  }

  /** Something that time has to pass for is under way. */
  #isBusy(): boolean {
    const { store } = this.#running.started;
    return store.tasks.count() > 0 || store.instances.busy(1).length > 0 || store.migrations.underWay(1).length > 0;
  }

  /** @throws {Error} there is no such host */
  #agentsOf(host: string): LocalAgents {
    const found = this.#agents.find(({ hosts }) => hosts.includes(host));
    if (found === undefined) {
      throw new Error(`there is no host ${host}; there are ${this.hostNames.join(", ")}`);
    }
    return found;
  }
}

/** The audit's own default. */
const ORPHANED_SHARE = 0.5;

/** @throws {Error} it did not get to serve */
function refuseFailed(agents: LocalAgents, host: string): void {
  const { state, detail } = agents.state(host);
  if (state === "failed") {
    throw new Error(`host ${host} does not serve: ${detail}`);
  }
}
