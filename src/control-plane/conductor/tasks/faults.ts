import { holdsTask, type Instance, POWER_STATES, type PowerState, type VmState } from "../../../records/index.js";
import { PublicError, publicMessageOf } from "../../../runtime/error-messages.js";
import { faultDetails, NoValidHost } from "../../scheduler/errors.js";
import type { Store } from "../../store/store.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

/** All candidate hosts have been tried (spec 6.1). */
export class MaxRetriesExceeded extends PublicError {
  override readonly name = "MaxRetriesExceeded";

  constructor(reason: string) {
    super(`Exceeded maximum number of retries. ${reason}`);
  }
}

/**
 * Returns the error of a build or move that is not retried, with Nova's message.
 * @param numAttempts number of the attempt that is not made
 * @param reason error of the last destination
 */
export function retriesExceeded(
  instanceUuid: string,
  { numAttempts, maxAttempts, reason }: RetriesMade,
): MaxRetriesExceeded {
  return new MaxRetriesExceeded(
    numAttempts > maxAttempts
      ? `Exceeded max scheduling attempts ${maxAttempts} for instance ${instanceUuid}. Last exception: ${reason ?? "None"}`
      : `Exhausted all hosts available for retrying build failures for instance ${instanceUuid}.`,
  );
}

interface RetriesMade {
  readonly numAttempts: number;
  readonly maxAttempts: number;
  readonly reason: string | undefined;
}

/** A required record no longer exists. */
export class RecordMissing extends PublicError {
  override readonly name = "RecordMissing";
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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

const PRE_CHECK = "Migration pre-check error: ";

/** A destination cannot live-migrate this guest; another one may. */
export class MigrationPreCheckError extends PublicError {
  override readonly name = "MigrationPreCheckError";

  /** @param reason may already start with the prefix, from a driver */
  constructor(reason: string) {
    super(reason.startsWith(PRE_CHECK) ? reason : `${PRE_CHECK}${reason}`);
  }
}

export class ComputeServiceUnavailable extends PublicError {
  override readonly name = "ComputeServiceUnavailable";

  constructor(host: string) {
    super(`Compute service of ${host} is unavailable at this time.`);
  }
}

export class UnableToMigrateToSelf extends PublicError {
  override readonly name = "UnableToMigrateToSelf";

  constructor(instance: string, host: string) {
    super(`Unable to migrate instance (${instance}) to current host (${host}).`);
  }
}

export class InvalidHypervisorType extends PublicError {
  override readonly name = "InvalidHypervisorType";

  constructor() {
    super("The supplied hypervisor type of is invalid.");
  }
}

export class DestinationHypervisorTooOld extends PublicError {
  override readonly name = "DestinationHypervisorTooOld";

  constructor() {
    super("The instance requires a newer hypervisor version than has been provided.");
  }
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

/** Errors before a live migration begins. The API responds with 400 if the client waits. */
export const UNSUITABLE_HOST_ERRORS = [
  NoValidHost,
  MaxRetriesExceeded,
  MigrationPreCheckError,
  ComputeServiceUnavailable,
  UnableToMigrateToSelf,
  InvalidHypervisorType,
  DestinationHypervisorTooOld,
];
