import { type Instance, TASK_STATES, type TaskState, VM_STATES, type VmState } from "../../../records/index.js";
import { defined } from "../../../runtime/collections.js";
import { badRequest, forbidden } from "../../http/http-error.js";
import { firstSince, lastBefore, parseIsoTime, toSeconds } from "../../http/times.js";
import type { InstanceQuery } from "../../store/instance-queries.js";
import { type Call, requireAdmin } from "../api/call.js";
import { NamePattern } from "../api/name-pattern.js";
import { boolFromText } from "../api/schema-parts.js";
import { statesOfStatus } from "./server-status.js";

/** Filters of a server list: conditions for the database, and predicates for each server. */
export interface ServerFilters {
  readonly query: InstanceQuery;
  /** Pattern for the display name. */
  readonly name: NamePattern | undefined;
  readonly predicates: readonly ((instance: Instance) => boolean)[];
  /** Whether no server can match. */
  readonly nothing: boolean;
}

const ANYBODY = ["reservation_id", "name", "status", "image", "flavor", "ip", "changes-since", "all_tenants"];
const SINCE: readonly (readonly [from: number, names: readonly string[]])[] = [
  [5, ["ip6"]],
  [26, ["tags", "tags-any", "not-tags", "not-tags-any"]],
  [66, ["changes-before"]],
  [73, ["locked"]],
  [83, ["availability_zone", "config_drive", "key_name", "created_at", "launched_at", "terminated_at", "power_state"]],
  [83, ["task_state", "vm_state", "progress", "user_id"]],
];

type InstancePredicate = (instance: Instance, value: string) => boolean;

const tagsOf = (value: string): string[] => value.split(",");

/** Filters that the database does not evaluate. */
const PREDICATES: Readonly<Record<string, InstancePredicate>> = {
  reservation_id: (instance, value) => instance.reservationId === value,
  tags: ({ tags }, value) => tagsOf(value).every((tag) => tags.includes(tag)),
  "tags-any": ({ tags }, value) => tagsOf(value).some((tag) => tags.includes(tag)),
  "not-tags": ({ tags }, value) => !tagsOf(value).every((tag) => tags.includes(tag)),
  "not-tags-any": ({ tags }, value) => !tagsOf(value).some((tag) => tags.includes(tag)),
  locked: ({ locked }, value) => locked === boolFromText(value),
  availability_zone: ({ availabilityZone }, value) => availabilityZone === value,
  config_drive: ({ configDrive }, value) => configDrive === boolFromText(value),
  key_name: ({ keyName }, value) => keyName === value,
  power_state: ({ powerState }, value) => String(powerState) === value,
  progress: ({ progress }, value) => String(progress) === value,
  launch_index: ({ launchIndex }, value) => String(launchIndex) === value,
  hostname: ({ hostname }, value) => hostname === value,
  description: ({ displayDescription }, value) => displayDescription === value,
  display_description: ({ displayDescription }, value) => displayDescription === value,
  created_at: ({ createdAt }, value) => toSeconds(createdAt) === parseIsoTime(value),
  launched_at: ({ launchedAt }, value) => launchedAt === parseIsoTime(value),
  terminated_at: ({ terminatedAt }, value) => terminatedAt === parseIsoTime(value),
};

/** Filters by a part of a fixed address, with the version of its addresses. */
const ADDRESS_FILTERS = [
  ["ip", 4],
  ["ip6", 6],
] as const;

/**
 * Parses the filters of a request.
 * @param rule the policy for listing servers of all projects
 * @throws {HttpError} 400, 403
 */
export function readFilters(call: Call, rule: string): ServerFilters {
  const allowed = new Set([...ANYBODY, ...SINCE.flatMap(([from, names]) => (call.version >= from ? names : []))]);
  const get = (name: string): string | undefined =>
    call.isAdmin || allowed.has(name) ? call.query.get(name) : undefined;
  const states = readStates(call, get);
  const query: InstanceQuery = {
    ...readOwner(call, get, rule),
    ...readTimes(get),
    ...defined({
      host: get("host"),
      node: get("node"),
      flavorId: get("flavor"),
      imageRef: get("image") ?? get("image_ref"),
      uuids: get("uuid")?.split(","),
    }),
    ...states,
  };
  const predicates = Object.entries(PREDICATES).flatMap(([name, predicate]) => {
    const value = get(name);
    return value === undefined ? [] : [(instance: Instance) => predicate(instance, value)];
  });
  for (const [name, version] of ADDRESS_FILTERS) {
    const value = get(name);
    if (value !== undefined) {
      const servers = new Set(call.deps.network.ports.serversWithAddress(value, version));
      predicates.push(({ uuid }) => servers.has(uuid));
    }
  }
  const name = get("name") ?? get("display_name");
  return {
    query: withDeleted(call, query, get),
    name: name === undefined ? undefined : new NamePattern(name),
    predicates,
    nothing: states === undefined,
  };
}

type Get = (name: string) => string | undefined;

/** Returns undefined for an unknown status before 2.38, which no server matches. */
function readStates(call: Call, get: Get): Pick<InstanceQuery, "vmStates" | "taskStates"> | undefined {
  const statuses = call.query.all("status");
  if (statuses.length > 0) {
    const states = statesOfStatus(statuses);
    if (!states && call.version >= 38) {
      throw badRequest("Invalid status value");
    }
    return states;
  }
  const vmState = get("vm_state");
  const taskState = get("task_state");
  const task: TaskState | null | undefined =
    taskState === "" || taskState === "None" ? null : TASK_STATES.find((state) => state === taskState);
  const vm: VmState | undefined = VM_STATES.find((state) => state === vmState);
  if ((vmState !== undefined && !vm) || (taskState !== undefined && task === undefined)) {
    return undefined;
  }
  return defined({ vmStates: vm && [vm], taskStates: task === undefined ? undefined : [task] });
}

function readOwner(call: Call, get: Get, rule: string): Pick<InstanceQuery, "projectId" | "userId"> {
  const { projectId, userId } = call.credentials;
  if (allTenants(get("all_tenants"))) {
    requireAdmin(call, rule);
    return defined({ projectId: get("project_id") ?? get("tenant_id"), userId: get("user_id") });
  }
  return projectId === null ? { userId } : defined({ projectId, userId: get("user_id") });
}

function allTenants(value: string | undefined): boolean {
  if (value === undefined) {
    return false;
  }
  const text = value.trim().toLowerCase();
  if (["", "1", "t", "true", "on", "y", "yes"].includes(text)) {
    return true;
  }
  if (["0", "f", "false", "off", "n", "no"].includes(text)) {
    return false;
  }
  throw badRequest(
    `Unrecognized value '${value}', acceptable values are: '0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'`,
  );
}

function readTimes(get: Get): Pick<InstanceQuery, "changesSince" | "changesBefore"> {
  const [since, before] = ["changes-since", "changes-before"].map((name) => {
    const text = get(name);
    const time = text === undefined ? undefined : parseIsoTime(text);
    if (text !== undefined && time === undefined) {
      throw badRequest(`Invalid filter field: ${name}.`);
    }
    return time;
  });
  if (since !== undefined && before !== undefined && since > before) {
    throw badRequest("The value of changes-since must be less than or equal to changes-before.");
  }
  return defined({
    changesSince: since === undefined ? undefined : firstSince(since),
    changesBefore: before === undefined ? undefined : lastBefore(before),
  });
}

function withDeleted(call: Call, query: InstanceQuery, get: Get): InstanceQuery {
  if (query.vmStates?.length === 1 && query.vmStates[0] === "deleted") {
    if (!call.isAdmin) {
      throw forbidden("Only administrators may list deleted instances");
    }
    return { ...query, deleted: true };
  }
  const deleted = get("deleted");
  if (deleted !== undefined) {
    return { ...query, deleted: boolFromText(deleted) };
  }
  // A list of changes includes deleted servers.
  const changes = query.changesSince !== undefined || query.changesBefore !== undefined;
  return changes ? { ...query, changesSince: query.changesSince ?? 0 } : { ...query, deleted: false };
}
