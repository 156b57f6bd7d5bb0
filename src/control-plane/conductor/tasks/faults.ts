import { holdsTask, type Instance, POWER_STATES, type PowerState, type VmState } from "../../../records/index.js";
import { PublicError, publicMessageOf } from "../../../runtime/error-messages.js";
import { faultDetails, NoValidHost } from "../../scheduler/errors.js";
import type { Store } from "../../store/store.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

/** All hosts that could be tried have been tried (spec 6.1). */
export class MaxRetriesExceeded extends PublicError {
  override readonly name = "MaxRetriesExceeded";

  constructor(reason: string) {
    super(`Exceeded maximum number of retries. ${reason}`);
  }
}

/**
 * Why a build or a move that its destinations gave back is not tried again; the texts are Nova's, those of moves too.
 * @param numAttempts the number of the attempt that is not made
 * @param reason of the last destination
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

/** A record that the flow cannot do without is gone. */
export class RecordMissing extends PublicError {
  override readonly name = "RecordMissing";
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Adds a fault as the API shows it: expected errors by their message, others by their name. */
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
 * Ends the request's operation on an instance that is still there: no task state, the vm_state given, the reason as a fault.
 * An instance that another request has by now, a delete above all, keeps the state that this request has set.
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

/** A destination cannot take this guest live; another one may. */
export class MigrationPreCheckError extends PublicError {
  override readonly name = "MigrationPreCheckError";

  /** @param reason a driver may have put the prefix there already */
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

/** The guest does not run. */
export class InstanceInvalidState extends PublicError {
  override readonly name = "InstanceInvalidState";
  /** Nova's name of it. */
  readonly powerState: string;

  constructor(uuid: string, powerState: PowerState) {
    const [name = ""] = Object.entries(POWER_STATES).find(([, state]) => state === powerState) ?? [];
    const state = powerState === POWER_STATES.nostate ? "pending" : name;
    super(`Instance ${uuid} in power_state ${state}. Cannot live migrate while the instance is in this state.`);
    this.powerState = state;
  }
}

/** Errors with which no live migration begins: the API answers them with 400 when the client waits. */
export const UNSUITABLE_HOST_ERRORS = [
  NoValidHost,
  MaxRetriesExceeded,
  MigrationPreCheckError,
  ComputeServiceUnavailable,
  UnableToMigrateToSelf,
  InvalidHypervisorType,
  DestinationHypervisorTooOld,
];
