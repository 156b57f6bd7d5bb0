import { ConductorError } from "../../../conductor-client/errors.js";
import {
  holdsTask,
  type Instance,
  type Migration,
  type MigrationStatus,
  type TaskState,
  type VmState,
} from "../../../records/index.js";
import type { AgentContext } from "../../context.js";

/** The conditions, at processing time, under which a message is processed on this host. */
export interface AdmissionRule {
  /** `nowhere`: the instance has no host. */
  readonly instance: "here" | "here or nowhere" | "nowhere" | "elsewhere" | "anywhere";
  /** The task_states in which the operation may begin; they must have been set by this request. */
  readonly tasks: readonly (TaskState | null)[] | "any";
  readonly vmStates?: readonly VmState[];
  /** This host's role in the message's migration, and the statuses that the migration may have. */
  readonly migration?: {
    readonly part: "source" | "destination";
    readonly statuses: readonly MigrationStatus[] | "any";
  };
  /** Also runs for a deleted instance, to remove its leftovers. */
  readonly deleted?: true;
}

/** The parameters that every message about an instance has; everything else is read from the database. */
export interface Message {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly migrationId?: number | null;
}

/** The records, as just read. */
export interface Found {
  readonly instance: Instance;
  /** The migration that the message names; null if it names none. */
  readonly migration: Migration | null;
}

/** The reason why a message is not processed. */
export interface AdmissionRejection {
  /**
   * `gone`: the instance is deleted. `ended`: the operation of which the message is a step has ended or has continued.
   * `taken`: another request owns the instance now. `moved`: the message is still valid, but for another host.
   */
  readonly kind: "gone" | "ended" | "taken" | "moved";
  /** The records; null if the instance or the migration never existed. */
  readonly found: Found | null;
  /** The observed state and the expected one. */
  readonly error: ConductorError;
}

/** The message's method, and its rule. */
export interface Gate {
  readonly method: string;
  readonly admission: AdmissionRule;
}

export type AdmissionResult = { readonly admitted: Found } | { readonly rejected: AdmissionRejection };

/**
 * Checks which host owns the instance now, and whether its task_state is still this request's. A message may have
 * waited for its host for days. Call this under the instance's lock, before touching driver, tracker or Placement.
 */
export async function admit(
  context: Pick<AgentContext, "conductor" | "host">,
  { method, admission: rule }: Gate,
  message: Message,
): Promise<AdmissionResult> {
  const { conductor, host } = context;
  const { instanceUuid: uuid, requestId } = message;
  const options = { requestId };
  const migration = rule.migration
    ? await conductor.call("migration_get", { id: message.migrationId ?? 0 }, options)
    : null;
  const instance = await conductor.call("instance_get", { uuid, readDeleted: true }, options);
  const kind = findRejectionKind(rule, host, requestId, instance, migration);
  if (kind === null && instance) {
    return { admitted: { instance, migration } };
  }
  const found = instance && (migration || !rule.migration) ? { instance, migration } : null;
  const text = `${method} for instance ${uuid} is not carried out on host ${host}: ${describeFound(instance, migration)}; expected ${expectation(rule, requestId)}`;
  return { rejected: { kind: kind ?? "gone", found, error: errorFor(instance, text) } };
}

/** Runs {@link admit} for a caller that waits for a reply. @throws {InstanceNotFound} UnexpectedTaskState */
export async function demand(
  context: Pick<AgentContext, "conductor" | "host">,
  gate: Gate,
  message: Message,
): Promise<Found> {
  const result = await admit(context, gate, message);
  if ("rejected" in result) {
    throw result.rejected.error;
  }
  return result.admitted;
}

function findRejectionKind(
  rule: AdmissionRule,
  host: string,
  requestId: string,
  instance: Instance | null,
  migration: Migration | null,
): AdmissionRejection["kind"] | null {
  if (rule.migration && !isAtStep(rule.migration, host, instance, migration)) {
    return "ended";
  }
  if (!instance || (instance.deleted !== 0 && !rule.deleted)) {
    return "gone";
  }
  const held =
    (rule.tasks === "any" || holdsTask(instance, requestId, rule.tasks)) &&
    (rule.vmStates?.includes(instance.vmState) ?? true);
  if (!held) {
    return hasGoneOn(rule, requestId, instance) ? "ended" : "taken";
  }
  if (isInPlace(rule.instance, host, instance)) {
    return null;
  }
  if (rule.migration || rule.instance === "nowhere" || instance.host === null) {
    return "ended";
  }
  // Without a matching request id, the name of a task_state alone is no reason to forward a message.
  return rule.tasks === "any" || instance.taskRequestId === requestId ? "moved" : "taken";
}

/**
 * Returns whether the message's work has already continued. A start may have resumed a move whose call timed out: the
 * request still owns it, and the checks for such moves end it.
 */
function hasGoneOn(
  { migration }: AdmissionRule,
  requestId: string,
  { taskState, taskRequestId }: Pick<Instance, "taskState" | "taskRequestId">,
): boolean {
  return migration === undefined ? taskState === null : taskState !== null && taskRequestId === requestId;
}

function isAtStep(
  { part, statuses }: NonNullable<AdmissionRule["migration"]>,
  host: string,
  instance: Instance | null,
  migration: Migration | null,
): boolean {
  if (!migration || (instance && migration.instanceUuid !== instance.uuid)) {
    return false;
  }
  const ours = part === "source" ? migration.sourceCompute : migration.destCompute;
  return ours === host && (statuses === "any" || statuses.includes(migration.status));
}

function isInPlace(place: AdmissionRule["instance"], host: string, instance: Instance): boolean {
  switch (place) {
    case "here":
      return instance.host === host;
    case "here or nowhere":
      return instance.host === host || instance.host === null;
    case "elsewhere":
      return instance.host !== host;
    case "nowhere":
      return instance.host === null;
    case "anywhere":
      return true;
  }
}

function describeFound(instance: Instance | null, migration: Migration | null): string {
  const move = migration
    ? `, its ${migration.migrationType} ${migration.id} from ${migration.sourceCompute} to ${migration.destCompute} is ${migration.status}`
    : "";
  if (!instance) {
    return `found no such instance${move}`;
  }
  const { host, vmState, taskState, taskRequestId, deleted } = instance;
  const task =
    taskState === null ? "no task_state" : `task_state ${taskState} of ${taskRequestId ?? "an unknown request"}`;
  return `found it ${deleted === 0 ? `on host ${host}` : "deleted"}, ${vmState}, with ${task}${move}`;
}

function expectation({ instance, tasks, vmStates, migration }: AdmissionRule, requestId: string): string {
  const task = tasks === "any" ? "any task_state" : `task_state ${tasks.map(String).join(" or ")} of ${requestId}`;
  return [
    `it ${instance}`,
    ...(vmStates ? [vmStates.join(" or ")] : []),
    `with ${task}`,
    ...(migration ? [`and this host as ${migration.part} of its migration in ${String(migration.statuses)}`] : []),
  ].join(", ");
}

function errorFor(instance: Instance | null, text: string): ConductorError {
  const taken = instance?.taskState === "deleting" ? "UnexpectedDeletingTaskState" : "UnexpectedTaskState";
  return new ConductorError(instance?.deleted === 0 ? taken : "InstanceNotFound", text);
}
