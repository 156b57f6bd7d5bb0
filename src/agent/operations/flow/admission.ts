import {
  InstanceNotFound,
  UnexpectedDeletingTaskState,
  UnexpectedTaskState,
} from "../../../conductor-client/errors.js";
import {
  holdsTask,
  type Instance,
  type Migration,
  type MigrationStatus,
  type TaskState,
  type VmState,
} from "../../../records/index.js";
import type { AgentContext } from "../../context.js";

/** What has to be so now, whenever the message was sent, for a message to be carried out on this host. */
export interface AdmissionRule {
  /** `nowhere`: no host has it. */
  readonly instance: "here" | "here or nowhere" | "nowhere" | "elsewhere" | "anywhere";
  /** The task_states from which the operation begins; they have to be this request's. */
  readonly tasks: readonly (TaskState | null)[] | "any";
  readonly vmStates?: readonly VmState[];
  /** This host's part in the message's migration, and how far that has come. */
  readonly migration?: {
    readonly part: "source" | "destination";
    readonly statuses: readonly MigrationStatus[] | "any";
  };
  /** Carried out for a deleted instance too: it removes what is left. */
  readonly deleted?: true;
}

/** What every message about an instance says; all else is in the state of record. */
export interface Message {
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly migrationId?: number | null;
}

/** The records as they are now. */
export interface Found {
  readonly instance: Instance;
  /** Null where the message names none. */
  readonly migration: Migration | null;
}

/** Why a message is not carried out. */
export interface AdmissionRejection {
  /**
   * `gone`: the instance is deleted. `ended`: what the message is a step of has ended, or has gone on. `taken`: another
   * request has the instance now. `moved`: it is wanted still, but on another host.
   */
  readonly kind: "gone" | "ended" | "taken" | "moved";
  /** Null: it never existed, or the migration did not. */
  readonly found: Found | null;
  /** What was found, and what was expected. */
  readonly error: UnexpectedTaskState | InstanceNotFound;
}

/** What is judged: the message's method, and the rule of it. */
export interface Gate {
  readonly method: string;
  readonly admission: AdmissionRule;
}

export type AdmissionResult = { readonly admitted: Found } | { readonly rejected: AdmissionRejection };

/**
 * Judges whose the instance is now, and whether the request still is the one that set its task_state. A message may have waited for
 * its host for days: asked under the instance's lock, before driver, tracker or Placement is touched.
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

/**
 * For a caller that waits for an answer. @throws {InstanceNotFound} {@link UnexpectedTaskState}: with what was found and expected
 */
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
  // By a state's name alone nothing is sent after an instance.
  return rule.tasks === "any" || instance.taskRequestId === requestId ? "moved" : "taken";
}

/** A start may have taken a move up and got no answer: the request has it still, and those end it who look for such moves. */
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

function errorFor(instance: Instance | null, text: string): AdmissionRejection["error"] {
  if (instance?.deleted !== 0) {
    return new InstanceNotFound(text);
  }
  return instance.taskState === "deleting" ? new UnexpectedDeletingTaskState(text) : new UnexpectedTaskState(text);
}
