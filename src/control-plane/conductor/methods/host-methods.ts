import { ConductorError } from "../../../conductor-client/errors.js";
import { isReady } from "../../../conductor-client/liveness.js";
import type { HOST_METHODS, HostAction, HostProcess, HostRow } from "../../../conductor-client/methods/session.js";
import type { Service } from "../../../records/index.js";
import type { Clock } from "../../../runtime/time.js";
import type { RequestRecorder } from "../../request-log/request-recorder.js";
import type { Store } from "../../store/store.js";
import { forwardErrorText, type HandlersOf } from "../dispatcher.js";
import { type HostControls, type HostSupervisor, type KnownHost, LIVE } from "../host-controls.js";
import type { HostLeases } from "../host-leases.js";
import type { Outbox } from "../outbox.js";

interface HostDeps {
  readonly store: Store;
  readonly leases: HostLeases;
  readonly supervisor: HostSupervisor | undefined;
  readonly controls: Pick<HostControls, "known" | "find" | "control">;
  readonly recorder: Pick<RequestRecorder, "note"> | undefined;
  /** Returns the result of `hosts_to_report` in {@link HOST_METHODS}. */
  readonly toReport: () => string[];
}

interface ReportDeps {
  readonly store: Pick<Store, "services">;
  readonly leases: Pick<HostLeases, "acquiredAt">;
  readonly outbox: Pick<Outbox, "server">;
  readonly clock: Pick<Clock, "now">;
  /** `service_down_time` in milliseconds. */
  readonly serviceDownTime: number;
}

/** Returns the hosts that serve, are neither disabled nor forced down, and become ready with a heartbeat ({@link isReady}). */
export function hostsToReport({ store, leases, outbox, clock, serviceDownTime }: ReportDeps): string[] {
  const options = { now: clock.now(), serviceDownTime };
  return store.services
    .states("nova-compute")
    .filter(
      (service) =>
        !service.disabled &&
        !service.forcedDown &&
        outbox.server(service.host) !== undefined &&
        !isReady(service, leases.acquiredAt(service.host), options),
    )
    .map(({ host }) => host);
}

/** The agent's part of a row in the list of hosts. */
export type HostAgent = Pick<HostRow, "host" | "state" | "reason" | "exitCode">;
type AgentDeps = Pick<HostDeps, "store" | "supervisor" | "controls">;

/** Creates the methods of `compute-agent host`. */
export function hostMethods(deps: HostDeps): HandlersOf<typeof HOST_METHODS> {
  const { supervisor, recorder } = deps;
  return {
    list_hosts: ({ host }) => listHosts(deps, host),
    hosts_to_report: () => deps.toReport(),
    control_host: ({ host, action }) => {
      recorder?.note(["host", action, host]);
      return forwardErrorText(() => controlHost(deps, host, action));
    },
    add_hosts: ({ addition }) =>
      forwardErrorText(async () => {
        if (supervisor === undefined) {
          throw new Error(
            "no 'compute-agent up' is running that could start agents; start one, or start the agent directly",
          );
        }
        const added = [...(await supervisor.add(addition))];
        recorder?.note(["host", "add", ...added]);
        return added;
      }),
    forget_host: ({ host }) =>
      forwardErrorText(async () => {
        await supervisor?.forget(host);
        return supervisor !== undefined;
      }),
  };
}

async function controlHost(deps: HostDeps, host: string, action: HostAction): Promise<HostProcess> {
  const { store, leases, supervisor, controls } = deps;
  const done = await supervisor?.control(host, action);
  if (typeof done === "object" && done !== null) {
    return done;
  }
  if (controls.find(host) !== undefined) {
    const { state, detail } = await controls.control(host, action);
    const found = (await supervisor?.find(host)) ?? unsupervised(deps, host, controls.find(host));
    const driver = found.driver ?? store.computeNodes.byHost(host)[0]?.hypervisorType ?? null;
    // The supervisor may not know the new state yet.
    return { ...found, driver, exitCode: found.state === state ? found.exitCode : null, state, reason: detail };
  }
  const holder = leases.describe(host);
  throw new ConductorError(
    "ComputeHostNotFound",
    holder === null
      ? `no process of this cluster has host ${host}; start one with compute-agent --host ${host}`
      : `host ${host}: ${action} failed: its agent, pid ${holder.pid} on machine ${holder.machine}, cannot be controlled from here`,
    { host },
  );
}

/** Lists supervised hosts, then hosts that only an agent or a record knows. @param only a single host; null for all */
async function listHosts(deps: HostDeps, only: string | null): Promise<HostRow[]> {
  const { store, controls } = deps;
  const processes = await processesFor(deps, only);
  const isRequested = (host: string): boolean => only === null || host === only;
  const services = new Map(
    store.services
      .list({ binary: "nova-compute", ...(only === null ? {} : { host: only }) })
      .map((service) => [service.host, service]),
  );
  const servers = only === null ? store.instances.countsByHost() : new Map([[only, store.instances.countByHost(only)]]);
  const types = store.computeNodes.typesByHost(only);
  const known = processes.filter(({ host }) => isRequested(host));
  const named = new Set(known.map(({ host }) => host));
  const isGone = goneFrom(processes, (host) => services.has(host));
  const offered = only === null ? controls.known() : [controls.find(only)].filter((found) => found !== undefined);
  const controlled = new Map(offered.flatMap((found) => (isGone(found) ? [] : [[found.host, found]])));
  const others = [...new Set([...services.keys(), ...controlled.keys()])]
    .filter((host) => !named.has(host))
    .map((host) => unsupervised(deps, host, controlled.get(host)));
  return [...known, ...others].map((found) => {
    const service = services.get(found.host);
    return {
      ...found,
      driver: found.driver ?? types.get(found.host) ?? null,
      servers: servers.get(found.host) ?? 0,
      service: service === undefined ? null : serviceOf(service),
    };
  });
}

/** Lists agents that can be reached from here. It reads less than {@link listHosts}, so it is fast for thousands of hosts. */
export async function listAgents({ store, supervisor, controls }: AgentDeps): Promise<HostAgent[]> {
  const processes = (await supervisor?.list()) ?? [];
  const named = new Set(processes.map(({ host }) => host));
  const isGone = goneFrom(processes, (host) => store.services.getByHost(host, "nova-compute") !== null);
  const others = controls.known().filter((known) => !named.has(known.host) && !isGone(known));
  return [...processes, ...others.map(({ host, state, detail }) => ({ host, state, reason: detail, exitCode: null }))];
}

/** Returns a predicate for removed hosts that one of the supervised processes still reports. */
function goneFrom(
  processes: readonly HostProcess[],
  hasService: (host: string) => boolean,
): (known: KnownHost) => boolean {
  const pids = new Set(processes.map(({ pid }) => pid));
  return ({ host, pid, state }) => !LIVE.has(state) && pids.has(pid) && !hasService(host);
}

/** Returns the process of one host if the supervisor can find it, since listing all processes is slow. */
async function processesFor({ supervisor }: HostDeps, only: string | null): Promise<readonly HostProcess[]> {
  const found = only === null ? null : await supervisor?.find(only);
  return found ? [found] : ((await supervisor?.list()) ?? []);
}

/** Describes a host without a supervisor, from its own process or its lease. */
function unsupervised({ leases }: HostDeps, host: string, known?: KnownHost): HostProcess {
  const holder = leases.describe(host);
  const nothing = { host, driver: null, since: null, exitCode: null, log: null };
  if (known !== undefined) {
    return { ...nothing, state: known.state, pid: known.pid, process: "elsewhere", reason: known.detail };
  }
  return holder?.connected === true
    ? { ...nothing, state: "serving", pid: holder.pid, process: "elsewhere", reason: "" }
    : { ...nothing, state: "stopped", pid: null, process: null, reason: "" };
}

function serviceOf({ disabled, forcedDown, disabledReason }: Service): NonNullable<HostRow["service"]> {
  return { enabled: !disabled, forcedDown, disabledReason };
}
