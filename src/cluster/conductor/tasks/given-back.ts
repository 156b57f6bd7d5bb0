import type { DestinationFailure, Instance, MigrationChanges } from "../../../records/index.js";
import type { Store } from "../../store/store.js";

/** Another host takes a move that a destination gave back: its event has succeeded, and the instance's fault is shown. */
export function passOn(store: Store, instance: Instance, failure: DestinationFailure): void {
  addFault(store, instance, failure);
  if (failure.eventId !== null) {
    store.actions.finishEvent(failure.eventId, { result: "Success" });
  }
}

/**
 * No other host takes it: the destination that gave it back has the last word (spec 6.3 row 4). Its error is the instance's
 * fault, after the conductor's own.
 * @param instance null: it was deleted, or another operation has it
 */
export function endGivenBack(store: Store, instance: Instance | null, failure: DestinationFailure): void {
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

/** Where the move was to go, as its row shows it when it has failed. */
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
