import type { AgentState, HostAction, HostProcess } from "../../../conductor-client/methods/session.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { explainedFault } from "../../../control-plane/scheduler/errors.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import type { Timers } from "../../../runtime/time.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { COMPUTE_VERSION, changeService, computeServices, hasStatus, type ServiceView } from "../compute-services.js";

/** The disabled reason of services whose hosts `up` was started without. */
export const NOT_STARTED = "compute-agent up was started without this host";

/** Maximum number of concurrent requests. */
const CONCURRENT_REQUESTS = 16;

export interface RemovalParts {
  readonly session: CloudSession;
  readonly timers: Pick<Timers, "sleep">;
  /** Returns the state of the host's agent; undefined if there is none. */
  readonly process: (host: string) => Promise<HostProcess | undefined>;
  readonly control: (host: string, action: HostAction) => Promise<HostProcess>;
  readonly forget: (host: string) => Promise<void>;
  /** Reports the number of servers that remain on the host. */
  readonly progress: (host: string, left: number) => void;
}

/** Creates the error of a host that is unchanged or partially removed; the command can be repeated. */
function notRemoved(message: string): CommandError {
  return new CommandError(ExitCode.failure, message);
}

const REASON = "compute-agent host remove is removing this host";

/** Milliseconds between two polls of the servers. */
const PAUSE = 500;

/** Maximum number of servers that are evacuated concurrently. */
const AT_A_TIME = 8;

/** Maximum number of servers that a message names. */
const NAMED = 5;

/**
 * Removes a host as an operator would: disables its service, moves its servers away, stops its agent, deletes its compute
 * service and its settings. Each step checks first whether it is already done.
 * @param evacuate rebuilds its servers on other hosts; otherwise a host with servers is rejected
 * @throws {CommandError}
 */
export async function removeHost(host: string, evacuate: boolean, parts: RemovalParts): Promise<void> {
  const { session } = parts;
  const [service] = await computeServices(session, host);
  if (service === undefined) {
    await stopAgent(host, parts);
    await parts.forget(host);
    return;
  }
  const isOurs = service.status === "enabled" || service.disabled_reason === REASON;
  if (service.status === "enabled") {
    await changeService(session, service.id, disabled(REASON));
  }
  const servers = await serversOn(host, session);
  if (servers.length > 0 && !evacuate) {
    if (isOurs) {
      await changeService(session, service.id, ENABLED);
    }
    throw notRemoved(
      `${host} has ${named(servers)}; move or delete ${servers.length === 1 ? "it" : "them"}, or evacuate them with --evacuate`,
    );
  }
  const mayHold = servers.length > 0 || service.forced_down;
  if (servers.length > 0) {
    await evacuateAll(host, service, parts);
  }
  const isClean = !mayHold || (await cleansUp(host, parts));
  await stopAgent(host, parts);
  await deleteService(service, !isClean, session);
  await parts.forget(host);
}

interface ServerView {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly "OS-EXT-STS:task_state": string | null;
  readonly fault?: { readonly message: string; readonly details?: string };
}

async function serversOn(host: string, session: CloudSession): Promise<readonly ServerView[]> {
  const path = `/servers/detail?all_tenants=True&limit=1000&host=${encodeURIComponent(host)}`;
  return ((await session.request("compute", "GET", path, COMPUTE_VERSION)) as { servers: ServerView[] }).servers;
}

/**
 * Evacuates all servers. The agent must be down, and marked as down, before its servers may run elsewhere.
 * @throws {CommandError}
 */
async function evacuateAll(host: string, service: ServiceView, parts: RemovalParts): Promise<void> {
  const { session, timers, progress } = parts;
  await stopAgent(host, parts);
  await changeService(session, service.id, { forced_down: true });
  const attempted = new Map<string, string>();
  for (;;) {
    const left = await serversOn(host, session);
    progress(host, left.length);
    if (left.length === 0) {
      return;
    }
    const waiting = left.filter((server) => server["OS-EXT-STS:task_state"] === null);
    const failed = waiting.filter(({ id }) => attempted.has(id));
    if (failed.length === left.length) {
      const [first] = failed;
      const why = (first?.fault && explainedFault(first.fault)) ?? attempted.get(first?.id ?? "");
      throw notRemoved(`${named(failed)} could not be evacuated from ${host}: ${why || "see its events"}`);
    }
    await mapConcurrently(
      waiting.filter(({ id }) => !attempted.has(id)),
      AT_A_TIME,
      async ({ id }) => {
        // Requested once: a server that is still here afterwards without a task state found no destination.
        attempted.set(id, "");
        try {
          await session.request("compute", "POST", `/servers/${id}/action`, COMPUTE_VERSION, { evacuate: {} });
        } catch (error) {
          attempted.set(id, errorMessage(error));
        }
      },
    );
    await timers.sleep(PAUSE);
  }
}

/**
 * Starts the evacuated host once more, so that it destroys leftover guests and removes their source allocations. Returns
 * false if the host does not start.
 */
async function cleansUp(host: string, parts: RemovalParts): Promise<boolean> {
  try {
    return (await parts.control(host, "start")).state === "serving";
  } catch {
    return false;
  }
}

/** States of an agent without a process. */
export const ENDED: readonly AgentState[] = ["stopped", "failed", "killed"];

/** @throws {CommandError} The agent runs and cannot be stopped. */
async function stopAgent(host: string, { process, control }: RemovalParts): Promise<void> {
  const found = await process(host);
  if (found === undefined || ENDED.includes(found.state)) {
    return;
  }
  const { state } = await control(host, "stop").catch((error: unknown) => {
    throw notRemoved(errorMessage(error));
  });
  if (!ENDED.includes(state)) {
    throw notRemoved(`the agent of ${host} was stopped, but is ${state}`);
  }
}

/** @param force also removes allocations of servers that run elsewhere. @throws {CommandError} */
async function deleteService({ id, host }: ServiceView, force: boolean, session: CloudSession): Promise<void> {
  try {
    await session.request("compute", "DELETE", `/os-services/${id}${force ? "?force=true" : ""}`, COMPUTE_VERSION);
  } catch (error) {
    if (hasStatus(error, 404)) {
      return;
    }
    throw notRemoved(`the compute service of ${host} cannot be deleted: ${errorMessage(error)}`);
  }
}

function named(servers: readonly ServerView[]): string {
  const names = servers.slice(0, NAMED).map(({ name }) => name);
  const more = servers.length > NAMED ? [`${servers.length - NAMED} more`] : [];
  return `${servers.length} ${servers.length === 1 ? "server" : "servers"} (${[...names, ...more].join(", ")})`;
}

/** Reads the services one by one if there are few hosts, since a complete list may have ten thousand entries. */
async function servicesOf(session: CloudSession, hosts: ReadonlySet<string>): Promise<readonly ServiceView[]> {
  if (hosts.size > CONCURRENT_REQUESTS) {
    return (await computeServices(session)).filter(({ host }) => hosts.has(host));
  }
  return (await mapConcurrently([...hosts], CONCURRENT_REQUESTS, (host) => computeServices(session, host))).flat();
}

/**
 * Disables the services of these hosts, so that nothing is scheduled to them. Services that are already disabled are not
 * changed.
 */
export async function disableServices(session: CloudSession, hosts: Iterable<string>): Promise<void> {
  const services = await servicesOf(session, new Set(hosts));
  const enabled = services.filter(({ status }) => status === "enabled");
  await mapConcurrently(enabled, CONCURRENT_REQUESTS, ({ id }) => changeService(session, id, disabled(NOT_STARTED)));
}

/** Enables the services that {@link disableServices} disabled, and no others. */
export async function enableServices(session: CloudSession, hosts: Iterable<string>): Promise<void> {
  const services = await servicesOf(session, new Set(hosts));
  const disabled = services.filter(({ disabled_reason: reason }) => reason === NOT_STARTED);
  await mapConcurrently(disabled, CONCURRENT_REQUESTS, ({ id }) => changeService(session, id, ENABLED));
}

const ENABLED = { status: "enabled" };

const disabled = (reason: string) => ({ status: "disabled", disabled_reason: reason });
