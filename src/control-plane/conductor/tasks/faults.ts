import {
  holdsTask,
  type Instance,
  POWER_STATES,
  type PowerState,
  type RequestSpec,
  type VmState,
} from "../../../records/index.js";
import { PublicError, publicMessageOf } from "../../../runtime/error-messages.js";
import { faultDetails, NoValidHost } from "../../scheduler/errors.js";
import type { Store } from "../../store/store.js";
import type { Task } from "../../store/tasks.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

type TaskErrorCode =
  /** All candidate hosts have been tried (spec 6.1). */
  | "MaxRetriesExceeded"
  /** A required record no longer exists. */
  | "RecordMissing"
  /** A requested port, address or security group no longer exists. */
  | "NetworkNotAllocated"
  /** A destination cannot live-migrate this guest; another one may. */
  | "MigrationPreCheckError"
  | "ComputeServiceUnavailable"
  | "UnableToMigrateToSelf"
  | "InvalidHypervisorType"
  | "DestinationHypervisorTooOld";

/** An error that ends a task and that users read as a fault; the names are OpenStack's. */
export class TaskError extends PublicError {
  readonly code: TaskErrorCode;
  override readonly name: TaskErrorCode;

  constructor(code: TaskErrorCode, message: string) {
    super(message);
    this.code = code;
    this.name = code;
  }
}

export function isTaskError(error: unknown, ...codes: readonly TaskErrorCode[]): error is TaskError {
  return error instanceof TaskError && codes.includes(error.code);
}

/** The beginning of every MaxRetriesExceeded. */
export const RETRIES_EXCEEDED = "Exceeded maximum number of retries.";

/**
 * Returns the error of a build or move that is not retried, with Nova's message.
 * @param numAttempts number of the attempt that is not made
 * @param reason error of the last destination
 */
export function retriesExceeded(instanceUuid: string, { numAttempts, maxAttempts, reason }: RetriesMade): TaskError {
  return new TaskError(
    "MaxRetriesExceeded",
    numAttempts > maxAttempts
      ? `${RETRIES_EXCEEDED} Exceeded max scheduling attempts ${maxAttempts} for instance ${instanceUuid}. Last exception: ${reason ?? "None"}`
      : `${RETRIES_EXCEEDED} Exhausted all hosts available for retrying build failures for instance ${instanceUuid}.`,
  );
}

interface RetriesMade {
  readonly numAttempts: number;
  readonly maxAttempts: number;
  readonly reason: string | undefined;
}

/** Adds a fault as the API returns it: expected errors with their message, others with their name. */
export function addFault(store: Store, instanceUuid: string, error: unknown): void {
  store.instances.addFault({
    instanceUuid,
    code: 500,
    message: publicMessageOf(error).slice(0, 255),
    details: faultDetails(error),
    host: CONDUCTOR_HOST,
  });
}

/**
 * Ends the request's operation on an existing instance: clears the task state, sets vm_state and adds the error as a
 * fault. If another request, such as a delete, owns the instance, the state is left unchanged.
 */
export function endOperation(
  store: Store,
  instance: Instance,
  { vmState, requestId }: { readonly vmState: VmState; readonly requestId: string },
  error: unknown,
): void {
  if (holdsTask(instance, requestId, [instance.taskState])) {
    store.instances.save(instance.uuid, { vmState, taskState: null });
  }
  addFault(store, instance.uuid, error);
}

/**
 * Ends the operation of a task, if its instance still exists, like {@link endOperation}.
 * @param vmState undefined leaves it unchanged
 */
export function endTask(
  store: Store,
  { instanceUuid, requestId }: Pick<Task, "instanceUuid" | "requestId">,
  vmState: VmState | undefined,
  error: unknown,
): void {
  const instance = store.instances.get(instanceUuid);
  if (instance !== null) {
    endOperation(store, instance, { requestId, vmState: vmState ?? instance.vmState }, error);
  }
}

/** @throws {TaskError} `RecordMissing` */
export function requestSpecOf(store: Store, { instanceUuid }: Pick<Task, "instanceUuid">): RequestSpec {
  const spec = store.requests.spec(instanceUuid);
  if (spec === null) {
    throw new TaskError("RecordMissing", `the request spec of instance ${instanceUuid} is gone`);
  }
  return spec;
}

const PRE_CHECK = "Migration pre-check error: ";

/** @param reason may already start with the prefix, from a driver */
export function preCheckFailed(reason: string): TaskError {
  return new TaskError("MigrationPreCheckError", reason.startsWith(PRE_CHECK) ? reason : `${PRE_CHECK}${reason}`);
}

export function computeServiceUnavailable(host: string): TaskError {
  return new TaskError("ComputeServiceUnavailable", `Compute service of ${host} is unavailable at this time.`);
}

/** The guest is not running. */
export class InstanceInvalidState extends PublicError {
  override readonly name = "InstanceInvalidState";
  /** Nova's name of the state. */
  readonly powerState: string;

  constructor(uuid: string, powerState: PowerState) {
    const [name = ""] = Object.entries(POWER_STATES).find(([, state]) => state === powerState) ?? [];
    const state = powerState === POWER_STATES.nostate ? "pending" : name;
    super(`Instance ${uuid} in power_state ${state}. Cannot live migrate while the instance is in this state.`);
    this.powerState = state;
  }
}

/** Returns whether an error precedes a live migration. The API responds with 400 if the client waits. */
export function isUnsuitableHost(error: unknown): boolean {
  return (
    error instanceof NoValidHost ||
    (error instanceof TaskError && !isTaskError(error, "RecordMissing", "NetworkNotAllocated"))
  );
}
