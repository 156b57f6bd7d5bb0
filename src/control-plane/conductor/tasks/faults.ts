import { holdsTask, type Instance, type VmState } from "../../../records/index.js";
import { PublicError, publicMessageOf } from "../../../runtime/public-error.js";
import { faultDetails } from "../../scheduler/errors.js";
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
