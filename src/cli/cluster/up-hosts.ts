import type { HostAction, HostProcess } from "../../conductor-client/methods/session.js";
import type { AgentPlan } from "../../control-plane/local/agent-process.js";
import { openCloudSession } from "../../control-plane/local/cloud-session.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import { type HostCommand, isMessage, type OVER_THE_LINK } from "../../control-plane/local/reports.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Supervisor } from "../../control-plane/local/supervisor.js";
import { foldHosts } from "../../records/host-names.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { withRuntime } from "./cluster-command.js";
import { disableServices, ENDED, enableServices, NOT_STARTED, removeHost } from "./host/remove-host.js";
import { CONTROL_PLANE, type HostSetting, type HostSettingsStore } from "./host-settings.js";

export interface UpHostsOptions {
  /** A function, because the supervisor is created later. */
  readonly supervisor: () => Pick<
    Supervisor,
    "statuses" | "hosts" | "host" | "control" | "add" | "forget" | "notify" | "isStopping"
  >;
  /** The pid of this process. */
  readonly pid: number;
  readonly settingsStore: Pick<HostSettingsStore, "hosts" | "get" | "keep" | "include" | "forget">;
  /** Returns the processes that serve these hosts with these settings. */
  readonly plansOf: (hosts: ReadonlyMap<string, HostSetting>) => readonly AgentPlan[];
  readonly readAddition: (id: string) => Promise<{ readonly hosts: readonly string[]; readonly setting: HostSetting }>;
  readonly onStarted: (host: string) => Promise<void>;
  /**
   * Called before the reply to an operator's restore command. `snapshot` null: the state after the start.
   * @param startHosts also start hosts that were down in that state
   * @throws {Error} the restore is impossible
   */
  readonly onRestore: (snapshot: string | null, startHosts: boolean) => Promise<void>;
  /** Called after the reply to an operator's command to stop or restart everything. */
  readonly onDown: () => void;
}

/** Handles operators' commands in `compute-agent up`: starts and ends processes, and lists the hosts that none serves. */
export class UpHosts {
  readonly #options: UpHostsOptions;
  #isReplaced = false;

  constructor(options: UpHostsOptions) {
    this.#options = options;
  }

  get #supervisor(): ReturnType<UpHostsOptions["supervisor"]> {
    return this.#options.supervisor();
  }

  /**
   * Handles a message of the control plane, and replies. Once a restore begins, it sends no more replies: callers repeat
   * their request to the next control plane.
   */
  async take(message: unknown): Promise<void> {
    if (!isMessage(message, "host-command")) {
      return;
    }
    const { id, command } = message;
    const reply = await this.#carryOut(message).then(
      (result) => ({ result: result ?? null }),
      (error: unknown) => ({ error: errorMessage(error) }),
    );
    if (this.#isReplaced) {
      return;
    }
    this.#supervisor.notify({ type: "host-answer", id, ...reply });
    if ("result" in reply && (command === "down" || command === "restore")) {
      this.#isReplaced = command === "restore";
      this.#options.onDown();
    }
  }

  /** Hosts that were started once, and that no process of this `up` serves. */
  get idle(): readonly string[] {
    const { settingsStore } = this.#options;
    const supervisor = this.#supervisor;
    const served = new Set(supervisor.hosts.map(({ host }) => host));
    return settingsStore.hosts.filter((host) => host !== CONTROL_PLANE && !served.has(host));
  }

  async #carryOut({ command, subject, startHosts }: HostCommand): Promise<unknown> {
    switch (command) {
      case "list":
        return this.#list();
      case "find":
        return this.#find(subject);
      case "add":
        return this.#add(subject);
      case "forget":
        return this.#forget(subject);
      case "restore":
        return this.#restore(subject, startHosts === true);
      case "down":
        return this.#options.pid;
      case "start":
      case "stop":
      case "kill":
        return this.#control(subject, command);
    }
  }

  #list(): readonly HostProcess[] {
    return [...this.#supervisor.hosts, ...this.idle.map((host) => this.#idleHost(host))];
  }

  #find(host: string): HostProcess | undefined {
    const hasSavedSetting = host !== CONTROL_PLANE && this.#options.settingsStore.get(host) !== undefined;
    return this.#supervisor.host(host) ?? (hasSavedSetting ? this.#idleHost(host) : undefined);
  }

  async #control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK | null> {
    const { settingsStore, plansOf } = this.#options;
    const supervisor = this.#supervisor;
    const setting = host === CONTROL_PLANE ? undefined : settingsStore.get(host);
    if (supervisor.host(host) === undefined && setting !== undefined) {
      if (action !== "start") {
        return this.#idleHost(host);
      }
      supervisor.add(plansOf(new Map([[host, setting]])));
      await settingsStore.include(host);
    }
    const done = await supervisor.control(host, action);
    if (action === "start" && typeof done === "object" && done.state === "serving") {
      await this.#options.onStarted(host);
    }
    return done ?? null;
  }

  async #add(addition: string): Promise<readonly string[]> {
    const { settingsStore, plansOf, readAddition } = this.#options;
    const supervisor = this.#supervisor;
    const { hosts, setting } = await readAddition(addition);
    const added: HostSetting = { ...setting, added: true };
    const free = hosts.filter((host) => this.#isFree(host, added));
    const plans = plansOf(new Map(free.map((host) => [host, added])));
    this.#assertNamesFree(plans);
    for (const host of free) {
      if (supervisor.host(host) !== undefined) {
        supervisor.forget(host);
      }
    }
    supervisor.add(plans);
    await Promise.all(free.map((host) => settingsStore.keep(host, added)));
    return hosts;
  }

  /**
   * Returns whether the host has to be started. False if it already runs, or is about to run, with exactly these settings,
   * as after an interrupted command.
   * @throws {Error} the host exists with other settings
   */
  #isFree(host: string, setting: HostSetting): boolean {
    const { settingsStore } = this.#options;
    const supervisor = this.#supervisor;
    const known = settingsStore.get(host);
    const process = supervisor.host(host);
    const isDown = process === undefined || ENDED.includes(process.state);
    if (known !== undefined && JSON.stringify(plain(known)) !== JSON.stringify(plain(setting))) {
      throw new Error(
        `${host} exists already, with other settings; remove it first, or start it with compute-agent host start ${host}`,
      );
    }
    return isDown;
  }

  /** Processes and their logs are named after hosts or pools, so names must not collide. */
  #assertNamesFree(plans: readonly AgentPlan[]): void {
    const supervisor = this.#supervisor;
    const taken = new Set(supervisor.statuses.map(({ name }) => name));
    const wrong = plans.filter(({ name }) => taken.has(name) && supervisor.host(name) === undefined);
    if (wrong.length > 0) {
      throw new Error(
        `${foldHosts(wrong.map(({ name }) => name))} is the name of a process of this cluster; choose another name`,
      );
    }
  }

  /** @throws {Error} The cluster is stopping. */
  async #restore(snapshot: string, startHosts: boolean): Promise<number> {
    if (this.#supervisor.isStopping) {
      throw new Error("compute-agent up is stopping; start it again before the restore");
    }
    await this.#options.onRestore(snapshot === "" ? null : snapshot, startHosts);
    return this.#options.pid;
  }

  async #forget(host: string): Promise<void> {
    this.#supervisor.forget(host);
    await this.#options.settingsStore.forget(host);
  }

  #idleHost(host: string): HostProcess {
    const driver = this.#options.settingsStore.get(host)?.driver ?? null;
    const nothing = { pid: null, process: null, since: null, exitCode: null, log: null };
    return { ...nothing, host, state: "stopped", driver, reason: NOT_STARTED };
  }
}

/** Returns a setting without the fields about its origin. */
function plain({ driver, configFiles, options = [] }: HostSetting) {
  return { driver, configFiles, options };
}

interface Place {
  readonly settingsStore: Pick<HostSettingsStore, "forget">;
  readonly directory: StateDir;
  /** Whether hosts without servers are removed. */
  readonly remove: true | undefined;
}

/**
 * Disables scheduling to hosts that are not started, and enables it for those that are started again.
 * @param idle known hosts that are not started now.
 * @returns messages for the user
 */
export async function leaveOut(
  idle: readonly string[],
  started: readonly string[],
  place: Place,
): Promise<readonly string[]> {
  return withRuntime(async (runtime) => {
    const session = await openCloudSession(runtime.files, runtime.http, place.directory);
    await enableServices(session, started);
    if (idle.length === 0) {
      return [];
    }
    const reasons: string[] = [];
    const removed: string[] = [];
    for (const host of place.remove === true ? idle : []) {
      try {
        await removeHost(host, false, {
          session,
          timers: runtime.timers,
          process: async () => undefined,
          control: () => Promise.reject(new Error(`no process serves ${host}`)),
          forget: (name) => place.settingsStore.forget(name),
          progress: () => undefined,
        });
        removed.push(host);
      } catch (error) {
        reasons.push(errorMessage(error));
      }
    }
    const gone = new Set(removed);
    const left = idle.filter((host) => !gone.has(host));
    await disableServices(session, left);
    return [
      ...(removed.length === 0 ? [] : [`Removed: ${hostsInShort(removed)}.`]),
      ...reasons.map((reason) => `Not removed: ${reason}`),
      ...(left.length === 0 ? [] : [leftText(left)]),
    ];
  });
}

/** Enables scheduling to hosts that an operator started, if they were disabled only for not being started. */
export async function reopen(hosts: readonly string[], directory: StateDir): Promise<void> {
  await withRuntime(async (runtime) => {
    await enableServices(await openCloudSession(runtime.files, runtime.http, directory), hosts);
  });
}

function leftText(hosts: readonly string[]): string {
  const names = hostsInShort(hosts);
  const named = foldHosts(hosts).length === names.length ? `'${names}'` : "HOST...";
  const hostArgument = hosts.length === 1 ? names : named;
  const one = hosts.length === 1;
  return [
    `Not started: ${names}, which ${one ? "was" : "were"} started before; disabled, so that no server is scheduled there.`,
    `  compute-agent host start ${hostArgument}     starts ${one ? "it" : "them"}`,
    `  compute-agent host remove ${hostArgument}    removes ${one ? "it" : "them"}, as does up --remove`,
  ].join("\n");
}

/** Batches work: items that are added while a batch is processed form the next batch. */
export class CoalescedWork<T> {
  readonly #work: (all: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  #next: Promise<void> | null = null;
  #before: Promise<void> = Promise.resolve();

  constructor(work: (all: readonly T[]) => Promise<void>) {
    this.#work = work;
  }

  /** Settles with the batch that includes the item. */
  add(one: T): Promise<void> {
    this.#waiting.push(one);
    this.#next ??= this.#afterThoseBefore();
    return this.#next;
  }

  async #afterThoseBefore(): Promise<void> {
    await this.#before.catch(() => undefined);
    const all = this.#waiting;
    this.#waiting = [];
    this.#next = null;
    this.#before = this.#work(all);
    await this.#before;
  }
}
