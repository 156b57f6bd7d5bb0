import type { DestinationFailure, Instance, MigrationChanges } from "../../../records/index.js";
import type { Store } from "../../store/store.js";

/** Ends a destination's event with success, and shows its fault, once another host takes the move that it gave back. */
export function passOn(store: Store, instance: Instance, failure: DestinationFailure): void {
  addFault(store, instance, failure);
  if (failure.eventId !== null) {
    store.actions.finishEvent(failure.eventId, { result: "Success" });
  }
}

/**
 * Ends a move that no other host takes as the destination that gave it back wanted (spec 6.3 row 4). Its error becomes the
 * instance's fault, after the conductor's own.
 * @param instance null: it was deleted, or another operation has it
 */
export function failReturnedMove(store: Store, instance: Instance | null, failure: DestinationFailure): void {
  if (instance !== null) {
    addFault(store, instance, failure);
    store.instances.save(instance.uuid, { newFlavor: null });
  }
  if (failure.eventId === null) {
    return;
  }
  const { message, traceback } = failure;
  store.actions.finishEvent(failure.eventId, {
    result: "Error",
    details: message,
    ...(traceback === null ? {} : { traceback }),
  });
}

/** The destination in the row of a move that has failed. */
export function lastDestination(store: Store, { host, node }: DestinationFailure): MigrationChanges {
  const row = store.computeNodes.getByHostAndNode(host, node);
  return { destCompute: host, destNode: node, ...(row ? { destComputeId: row.id, destHost: row.hostIp } : {}) };
}

function addFault(store: Store, instance: Instance, { host, message, traceback }: DestinationFailure): void {
  store.instances.addFault({
    instanceUuid: instance.uuid,
    code: 500,
    message: message.slice(0, 255),
    details: traceback,
    host,
  });
}
