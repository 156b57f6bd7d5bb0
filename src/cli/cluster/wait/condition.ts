import { InvalidArgumentError } from "commander";
import type { HostSession } from "../../../conductor-client/port.js";
import { SERVER_STATUSES } from "../../../control-plane/compute/servers/server-status.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import { explainedFault } from "../../../control-plane/scheduler/errors.js";
import { MAX_HOSTS } from "../../../records/host-names.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";

/** A condition of `compute-agent wait --for`. */
export type Condition =
  | { readonly kind: "hosts"; readonly count: number }
  | { readonly kind: "settled" }
  | { readonly kind: "server"; readonly server: string; readonly status: string };

/** Parses `hosts=3`, `settled` or `server=vm1:ACTIVE`. @throws {InvalidArgumentError} */
export function parseCondition(text: string, before: readonly Condition[] = []): readonly Condition[] {
  return [...before, conditionIn(text)];
}

function conditionIn(text: string): Condition {
  if (text === "settled") {
    return { kind: "settled" };
  }
  const [, digits] = /^hosts=(\d{1,6})$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) >= 1 && Number(digits) <= MAX_HOSTS) {
    return { kind: "hosts", count: Number(digits) };
  }
  // The name may contain colons.
  const [, server, status] = /^server=(.+):([A-Za-z_]+)$/s.exec(text) ?? [];
  if (server !== undefined && status !== undefined) {
    assertStatus(status.toUpperCase());
    return { kind: "server", server, status: status.toUpperCase() };
  }
  throw new InvalidArgumentError(`expected hosts=N (1 to ${MAX_HOSTS}), settled, or server=NAME:STATUS.`);
}

/** @throws {InvalidArgumentError} Servers cannot have the status. */
function assertStatus(status: string): void {
  if (!SERVER_STATUSES.includes(status)) {
    const near = didYouMean(status, SERVER_STATUSES);
    const hint = near === undefined ? `expected one of ${SERVER_STATUSES.join(", ")}` : `did you mean ${near}?`;
    throw new InvalidArgumentError(`there is no status ${status}; ${hint}`);
  }
}

/** The unmet part of a condition, as text for users; undefined if it is met. */
type Missing = string | undefined;

/** Clients for the conductor and the APIs of a cluster. */
export interface ConditionClients {
  readonly session: HostSession;
  /** Opened lazily, since only conditions about servers need it. */
  readonly cloud: () => Promise<CloudSession>;
}

/** @throws {CommandError} with the exit code of a failure: the condition can never be met, or cannot be evaluated */
export async function checkCondition(condition: Condition, { session, cloud }: ConditionClients): Promise<Missing> {
  switch (condition.kind) {
    case "hosts":
      return hostsMissing(condition.count, session);
    case "settled":
      return workLeft(session);
    case "server":
      return serverMissing(condition, await cloud());
  }
}

async function hostsMissing(count: number, session: HostSession): Promise<Missing> {
  const rows = await session.call("list_hosts", { host: null });
  const toReport = new Set(await session.call("hosts_to_report", {}));
  const serving = rows.filter(({ host, state }) => state === "serving" && !toReport.has(host)).length;
  const silent = toReport.size === 0 ? "" : `, and ${toReport.size} more once they have sent a heartbeat`;
  return serving >= count ? undefined : `${serving} of ${count} hosts serve${silent}`;
}

export async function workLeft(session: HostSession): Promise<Missing> {
  const { tasks, messages, servers, moves } = await session.call("cluster_work", {});
  const left = [
    ...servers.map(({ displayName, taskState }) => `server ${displayName} is ${taskState}`),
    ...moves.map(({ type, status, instanceUuid }) => `the ${type} of server ${instanceUuid} is ${status}`),
    ...(tasks === 0 ? [] : [`the conductor has ${tasks} pending tasks`]),
    ...(messages === 0 ? [] : [`agents have ${messages} messages to process`]),
  ];
  return left.length === 0 ? undefined : left.slice(0, NAMED).join(", ");
}

/** Maximum number of items that are named. */
const NAMED = 3;

interface FoundServer {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly fault?: { readonly message: string; readonly details?: string };
}

async function serverMissing(
  { server, status }: Extract<Condition, { kind: "server" }>,
  cloud: CloudSession,
): Promise<Missing> {
  const found = (await cloud.request("compute", "GET", `/servers/detail?all_tenants=1&${query(server)}`, "2.1")) as {
    readonly servers: readonly FoundServer[];
  };
  const [one, ...others] = found.servers.filter(({ id, name }) => id === server || name === server);
  if (one === undefined) {
    return status === "DELETED" ? undefined : `there is no server ${server}`;
  }
  if (others.length > 0) {
    throw new CommandError(ExitCode.failure, `${others.length + 1} servers are named ${server}; use an id`);
  }
  if (one.status === "ERROR" && status !== "ERROR" && status !== "DELETED") {
    throw new CommandError(
      ExitCode.failure,
      `server ${server} is in ERROR: ${one.fault ? explainedFault(one.fault) : "no fault was recorded"}`,
    );
  }
  return one.status === status ? undefined : `server ${server} is ${one.status}`;
}

/** The API's name filter is a regular expression, and does not match ids. */
function query(server: string): string {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(server);
  return isId ? `uuid=${server}` : `name=${encodeURIComponent(`^${server.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)}`;
}
