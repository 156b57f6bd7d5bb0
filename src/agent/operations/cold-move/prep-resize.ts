import type { InstanceChanges, RetryInfo } from "../../../records/index.js";
import { publicMessageOf, tracebackOf } from "../../../runtime/error-messages.js";
import { BuildAbortException, InstanceFaultRollback } from "../../../virt/errors.js";
import type { Claim } from "../../tracker/contract.js";
import type { AdmissionRejection } from "../flow/admission.js";
import type { Call, RequestOf } from "../flow/contract.js";
import { assertServable, claimInGroup, OperationError } from "../flow/destination-checks.js";
import { addFault, attempt, mustNotUndo, type OpenEvent } from "../flow/error-wrappers.js";
import { revertToSource } from "../flow/move-allocations.js";
import { moveFlow, runOperation, stepList } from "../flow/step-list.js";
import {
  failMove,
  innerError,
  isRollback,
  isTaken,
  type MoveProgress,
  orMigrationAlone,
  returnAllocations,
  stepMessage,
} from "./move-request.js";

type PrepRequest = RequestOf<"prep_resize">;

interface PrepProgress extends MoveProgress<PrepRequest> {
  claim: Claim | null;
}

const STEPS = stepList<PrepProgress>("prep_resize", {
  accept: async (progress) => {
    assertSelfMoveSupported(progress);
    assertCanReceive(progress);
  },
  claim: async (progress) => {
    const { services, request, move } = progress;
    const { requestId, node, flavor } = request;
    const { uuid } = move.instance;
    const { allocations } = await services.placement.getAllocationsForConsumer(uuid, { requestId });
    const { instance, migration } = move;
    await orRollback(() =>
      claimInGroup(services, "migration", request, async () => {
        const claim = await services.tracker.resizeClaim(instance, node, migration, flavor, allocations, requestId);
        progress.claim = claim;
        progress.move = { instance: claim.instance, migration: claim.migration ?? migration };
      }),
    );
  },
  cast: async ({ services, request, move }) => {
    const { requestId } = request;
    const host = move.migration.sourceCompute ?? "";
    await services.conductor.castAgent(host, "resize_instance", stepMessage(request), { requestId });
  },
});

/**
 * Spec 6.3 row 4, on the destination. From here on the instance counts as an incoming move of this host, until the move
 * is finished here or aborted (spec 2.8).
 */
export const PREP_RESIZE = moveFlow<"prep_resize">({ steps: [STEPS], run: prepare, onRejected });

/** @throws the error, unless the conductor tries another host or another request took the instance over */
async function prepare(message: MoveProgress<PrepRequest>, call: Call<"prep_resize">): Promise<void> {
  const { services, request } = message;
  const { incoming } = services;
  incoming.begin(request.migrationId, request.instanceUuid);
  try {
    const isHandedOver = await runOperation(call, STEPS, { ...message, claim: null }, prepFailed);
    if (!isHandedOver) {
      incoming.end(request.migrationId);
    }
  } catch (error) {
    // It is unknown whether the source got the message: leave everything as after a crash.
    if (!mustNotUndo(error)) {
      incoming.end(request.migrationId);
    }
    throw error;
  }
}

/** Handles a move whose instance was taken over, or which was ended while the scheduler claimed this host for it. */
async function onRejected(progress: MoveProgress, { kind, error }: AdmissionRejection): Promise<void> {
  const { services, request, move } = progress;
  if (kind !== "ended") {
    await returnAllocations(progress);
    await failMove(progress, null, error);
  } else if (move.migration.status === "error") {
    await revertToSource(services, move, { requestId: request.requestId });
  }
}

/** Restores the allocations before anything else, so that the next host's claim starts from them (bug 1741125). */
async function prepFailed(progress: PrepProgress, error: unknown, event: OpenEvent): Promise<void> {
  const { services, request, move, claim } = progress;
  const { retry } = request;
  const restored = await returnAllocations(progress);
  if (isTaken(error)) {
    if (claim) {
      await attempt(services, request.instanceUuid, "drop the claim", () => claim.abort());
    }
    await failMove(progress, null, error);
    return;
  }
  const reschedules = retry && restored && !(error instanceof BuildAbortException);
  if (reschedules && (await handedBack(progress, event, retry, error))) {
    return;
  }
  const changes: InstanceChanges = {
    ...(isRollback(error) && restored ? {} : { vmState: "error" }),
    taskState: null,
    newFlavor: null,
  };
  if (!claim) {
    await failMove(progress, changes, error);
  } else {
    await attempt(services, request.instanceUuid, "drop the claim", () =>
      orMigrationAlone(services, move.migration, async () => {
        await claim.abort({ instance: changes, migrationStatus: "error" });
        return true;
      }),
    );
    await addFault(services, request.instanceUuid, innerError(error));
  }
  throw innerError(error);
}

/**
 * Returns false if the conductor rejects the move.
 * @throws the error if the conductor may have accepted the move: the conductor then ends it, or a later check for stuck
 * moves finds it
 */
async function handedBack(
  progress: PrepProgress,
  event: OpenEvent,
  retry: RetryInfo,
  error: unknown,
): Promise<boolean> {
  try {
    await reschedule(progress, event, retry, error);
    event.handOver();
    return true;
  } catch (err) {
    const { services, request } = progress;
    const { instanceUuid: instance, migrationId: migration } = request;
    services.logger.error("could not request another host", { instance, migration, err });
    if (!mustNotUndo(err)) {
      return false;
    }
    event.handOver();
    throw err;
  }
}

/**
 * Hands the move over to the conductor, with the failure to record if no other host accepts it. An agent that waited
 * for the response could die before it had reported the failure.
 */
async function reschedule(
  { services, request, claim }: PrepProgress,
  event: OpenEvent,
  retry: RetryInfo,
  error: unknown,
): Promise<void> {
  const { instanceUuid, migrationId, flavor, alternates, node, requestId } = request;
  await claim?.abort();
  const cause = innerError(error);
  const failure = {
    host: services.host,
    node,
    message: publicMessageOf(cause).slice(0, 255),
    traceback: tracebackOf(cause),
    rollback: isRollback(error),
    eventId: event.id,
  };
  await services.conductor.call(
    "migrate_server",
    { instanceUuid, migrationId, flavor, alternates: [...alternates], retry, failure, requestId },
    { requestId },
  );
}

/** A policy violation leaves the instance as it is. @throws {InstanceFaultRollback} */
async function orRollback(claim: () => Promise<void>): Promise<void> {
  try {
    await claim();
  } catch (error) {
    throw error instanceof OperationError && error.code === "GroupAffinityViolation"
      ? new InstanceFaultRollback(error.message, { cause: error })
      : error;
  }
}

/** Another host may be able to serve the instance. @throws {InstanceFaultRollback} */
function assertCanReceive({ request }: PrepProgress): void {
  try {
    assertServable(request);
  } catch (cause) {
    throw new InstanceFaultRollback(publicMessageOf(cause), { cause });
  }
}

/** Requires a driver that supports cold migration to the same host; a resize does not need it (spec 6.3). */
function assertSelfMoveSupported({ services, move, request }: PrepProgress): void {
  const { host, driver } = services;
  if (move.migration.migrationType !== "migration" || move.instance.host !== host) {
    return;
  }
  if (driver.capabilities.supportsMigrateToSameHost) {
    return;
  }
  const cause = new OperationError(
    "UnableToMigrateToSelf",
    `instance ${request.instanceUuid} is on host ${host} already, and driver ${driver.name} cannot migrate it to itself`,
  );
  throw new InstanceFaultRollback(cause.message, { cause });
}
