import { DISK_INFO, flavorColumns, hasSameDisks, type InstanceChanges } from "../../../records/index.js";
import { hasQuirk } from "../../context.js";
import type { RequestOf } from "../flow/contract.js";
import { setErrorIfSuperseded } from "../flow/error-wrappers.js";
import { imageMeta } from "../flow/guest-options.js";
import { finishSource, flavorsOf, revertToSource } from "../flow/move-allocations.js";
import { moveFlow, runOperation, stepList } from "../flow/step-list.js";
import {
  bringGuestBack,
  changesOnFailure,
  failMove,
  heldByGuest,
  innerError,
  isTaken,
  type MoveProgress,
  returnAllocations,
  stepMessage,
  succeeded,
  wasStopped,
} from "./move-request.js";

type FinishProgress = MoveProgress<RequestOf<"finish_resize">>;

const FINISH_STEPS = stepList<FinishProgress>("finish_resize", {
  begin: async (progress) => {
    const { services, move } = progress;
    const { newFlavor } = flavorsOf(move.instance, move.migration);
    progress.move = await services.tracker.saveMove({
      ...move,
      changes: { ...flavorColumns(newFlavor), taskState: "resize_finish" },
      expectedTaskState: ["resize_migrated"],
    });
  },
  finish_migration: async (progress) => {
    const { services, request, move } = progress;
    const { instance, migration } = move;
    const { oldFlavor, newFlavor } = flavorsOf(instance, migration);
    const allocations = await heldByGuest(progress);
    const blockDevices = await services.volumes.connect(instance, { completes: false });
    await services.driver.finishMigration(migration, instance, request.diskInfo, {
      network: [],
      allocations,
      image: imageMeta(instance),
      resizeInstance: !hasSameDisks(oldFlavor, newFlavor),
      blockDevices,
      powerOn: !wasStopped(move),
    });
    await services.volumes.complete(instance);
  },
  record: async (progress) => {
    const { services, move } = progress;
    const { driver, runtime } = services;
    const powerState = await driver.powerState(move.instance);
    progress.move = await services.tracker.saveMove({
      ...move,
      changes: { vmState: "resized", taskState: null, powerState, launchedAt: runtime.clock.now() },
      expectedTaskState: ["resize_finish"],
      migrationChanges: { status: "finished" },
    });
  },
});

/** Spec 6.3 row 7, on the destination. If another request took the instance over, only the event records the error. */
export const FINISH_RESIZE = moveFlow<"finish_resize">({
  steps: [FINISH_STEPS],
  run: async (message, call) => {
    try {
      await runOperation(call, FINISH_STEPS, message, finishFailed);
    } finally {
      message.services.incoming.end(message.request.migrationId);
    }
  },
  onRejected: async (message, { kind, error }) => {
    message.services.incoming.end(message.request.migrationId);
    if (kind !== "ended") {
      await finishFailed(message, error);
    }
  },
});

interface ResizeProgress extends MoveProgress {
  diskInfo: string;
  /** True once the instance belongs to the destination (row 6). */
  flipped: boolean;
}

const STEPS = stepList<ResizeProgress>("resize_instance", {
  // Status first: `migrating` means that the source has begun.
  start: async (progress) => {
    const { services, move } = progress;
    const { conductor } = services;
    const migration = await conductor.call("migration_save", {
      id: move.migration.id,
      changes: { status: "migrating" },
      expectedStatus: ["pre-migrating"],
    });
    progress.move = { ...move, migration };
    const instance = await conductor.call("instance_save", {
      uuid: move.instance.uuid,
      changes: { taskState: "resize_migrating" },
      expectedTaskState: ["resize_prep"],
    });
    progress.move = { instance, migration };
  },
  migrate_disk: async (progress) => {
    const { services } = progress;
    const { instance, migration } = progress.move;
    progress.diskInfo = await services.driver.migrateDiskAndPowerOff(instance, {
      destIp: migration.destHost ?? "",
      flavor: instance.newFlavor ?? instance.flavor,
      network: [],
      blockDevices: await services.volumes.info(instance),
    });
  },
  // From here on, the destination's attachments are reserved.
  release_volumes: ({ services, move }) => services.volumes.reserveAgain(move.instance),
  // One save (spec V26).
  flip: async (progress) => {
    const { services, move } = progress;
    const { instance, migration } = move;
    const changes: InstanceChanges = {
      host: migration.destCompute,
      node: migration.destNode,
      computeId: migration.destComputeId,
      oldFlavor: instance.flavor,
      // For the recovery after a crash: the message to the destination may never be sent.
      systemMetadata: { ...instance.systemMetadata, [DISK_INFO]: progress.diskInfo },
      taskState: "resize_migrated",
    };
    progress.move = await services.tracker.saveMove({
      instance,
      changes,
      expectedTaskState: ["resize_migrating"],
      migration,
      migrationChanges: { status: "post-migrating" },
    });
    progress.flipped = true;
  },
  cast: async ({ services, request, move, diskInfo }) => {
    const { requestId } = request;
    const message = { ...stepMessage(request), diskInfo };
    await services.conductor.castAgent(move.migration.destCompute ?? "", "finish_resize", message, { requestId });
  },
});

/** Spec 6.3 rows 5 and 6, on the source. If another request took the instance over, only the event records the error. */
export const RESIZE_INSTANCE = moveFlow<"resize_instance">({
  steps: [STEPS],
  run: (message, call) =>
    runOperation(call, STEPS, { ...message, ...NOT_BEGUN }, (progress, error) =>
      progress.flipped ? failedOnDestination(progress, error) : failedOnSource(progress, error),
    ),
  onRejected: async (message, { kind, error }) => {
    if (kind !== "ended") {
      await failedOnSource({ ...message, ...NOT_BEGUN }, error);
    }
  },
});

const NOT_BEGUN = { diskInfo: "", flipped: false };

/** Row 5: the instance stays here, and its allocations are restored before it appears usable (spec V27). */
async function failedOnSource(progress: ResizeProgress, error: unknown): Promise<void> {
  if (isTaken(error)) {
    await bringGuestBack(progress, error);
  }
  const restored = await returnAllocations(progress);
  if (isTaken(error)) {
    await failMove(progress, null, error);
    return;
  }
  await failMove(progress, changesOnFailure(error, restored), error);
  throw innerError(error);
}

/** Row 6 after its save: the instance belongs to the destination, as when finishing fails (row 7). */
async function failedOnDestination(progress: ResizeProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  if (!hasQuirk(services, "undo-resize-after-host-flip")) {
    await finishFailed(progress, error);
    return;
  }
  await succeeded(progress, "settle the allocations of the move", () =>
    revertToSource(services, move, { requestId: request.requestId }),
  );
  const changes: InstanceChanges = { vmState: "error", taskState: null };
  await failMove(progress, isTaken(error) ? null : changes, error);
  throw error;
}

/** The instance and its destination allocations stay here (bug 1825537); the source allocations are removed. */
export async function finishFailed(progress: MoveProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  await succeeded(progress, "remove the source allocations of the move", () =>
    finishSource(services, move, { requestId: request.requestId, repeated: true }),
  );
  const { oldFlavor } = move.instance;
  const restores = hasQuirk(services, "restore-flavor-after-failed-finish") && oldFlavor !== null;
  const flavor = flavorColumns(restores ? oldFlavor : flavorsOf(move.instance, move.migration).newFlavor);
  if (isTaken(error)) {
    await setErrorIfSuperseded(services, move.instance, error, flavor);
    await failMove(progress, null, error);
    return;
  }
  await failMove(progress, { ...flavor, vmState: "error", taskState: null }, error);
  throw error;
}
