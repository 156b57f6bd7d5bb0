import { DISK_INFO, type InstanceChanges } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import { hasQuirk } from "../../context.js";
import type { AdmissionRejection } from "../admission/admission.js";
import type { Call } from "../contract.js";
import { runOperation } from "../flow/run-operation.js";
import { stepList } from "../flow/step-list.js";
import type { Move } from "../moves/free-allocations.js";
import { revertToSource } from "../moves/move-allocations.js";
import { moveFlow } from "../moves/move-flow.js";
import { bringGuestBack } from "./bring-guest-back.js";
import { finishFailed } from "./finish-resize.js";
import { failMove, innerError, isRollback, isTaken, type MoveProgress, succeeded } from "./move-request.js";

interface ResizeProgress extends MoveProgress {
  diskInfo: string;
  /** The instance is the destination's (row 6). */
  flipped: boolean;
}

const STEPS = stepList<ResizeProgress>("resize_instance", {
  // Status first: who finds it in `migrating` knows that the source has begun.
  start: async (progress) => {
    const { services, move } = progress;
    const { conductor } = services.context;
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
    const { instance, migration } = progress.move;
    progress.diskInfo = await progress.services.context.driver.moves.migrateDiskAndPowerOff(instance, {
      destIp: migration.destHost ?? "",
      flavor: instance.newFlavor ?? instance.flavor,
      network: [],
      blockDevices: LOCAL_DISKS,
    });
  },
  // One save (spec V26).
  flip: async (progress) => {
    const { services, move } = progress;
    const { instance, migration } = move;
    const changes: InstanceChanges = {
      host: migration.destCompute,
      node: migration.destNode,
      computeId: migration.destComputeId,
      oldFlavor: instance.flavor,
      // For whoever goes on after a crash: the message to the destination may never be sent.
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
    const { instanceUuid, migrationId, requestId } = request;
    const message = { instanceUuid, migrationId, diskInfo, requestId };
    await services.context.conductor.castAgent(move.migration.destCompute ?? "", "finish_resize", message, {
      requestId,
    });
  },
});

/** Spec 6.3 rows 5 and 6, on the source. */
export const RESIZE_INSTANCE = moveFlow<"resize_instance">({ steps: [STEPS], run: resize, onRejected });

/** @throws the error, unless the instance was taken by somebody else: then only the event has it. */
async function resize(call: Call<"resize_instance">, move: Move): Promise<void> {
  const { services, request } = call;
  await runOperation(call, STEPS, { services, request, move, diskInfo: "", flipped: false }, resizeFailed);
}

async function resizeFailed(progress: ResizeProgress, error: unknown): Promise<void> {
  if (progress.flipped) {
    await failedOnDestination(progress, error);
  } else {
    await failedOnSource(progress, error);
  }
}

/** Somebody else has the instance. */
async function onRejected(
  { services, request }: Call<"resize_instance">,
  move: Move,
  { kind, error }: AdmissionRejection,
): Promise<void> {
  if (kind !== "ended") {
    await failedOnSource({ services, request, move, diskInfo: "", flipped: false }, error);
  }
}

/** Row 5: the instance stays here, and has its allocations again before it looks usable (spec V27). */
async function failedOnSource(progress: ResizeProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  if (isTaken(error)) {
    await bringGuestBack(progress, error);
  }
  const restored = await succeeded(progress, "give the allocations back to the instance", () =>
    revertToSource(services, move, { requestId: request.requestId }),
  );
  if (isTaken(error)) {
    await failMove(progress, null, error);
    return;
  }
  const isRolledBack = isRollback(error) && restored;
  const changes: InstanceChanges = {
    ...(isRolledBack ? {} : { vmState: "error" }),
    taskState: null,
    newFlavor: null,
  };
  await failMove(progress, changes, error);
  throw innerError(error);
}

/** Row 6 after its save: the instance is the destination's, as when finishing fails (row 7). */
async function failedOnDestination(progress: ResizeProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  if (!hasQuirk(services.context, "undo-resize-after-host-flip")) {
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
