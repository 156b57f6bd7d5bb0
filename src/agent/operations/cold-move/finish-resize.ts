import { flavorColumns, hasSameDisks } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import { hasQuirk } from "../../context.js";
import type { AdmissionRejection } from "../admission/admission.js";
import type { Call, RequestOf } from "../contract.js";
import { setErrorIfSuperseded } from "../flow/error-when-superseded.js";
import { imageMeta } from "../flow/guest-options.js";
import { runOperation } from "../flow/run-operation.js";
import { stepList } from "../flow/step-list.js";
import type { Move } from "../moves/free-allocations.js";
import { finishSource, flavorsOf } from "../moves/move-allocations.js";
import { moveFlow } from "../moves/move-flow.js";
import { failMove, heldByGuest, isTaken, type MoveProgress, succeeded, wasStopped } from "./move-request.js";

type FinishProgress = MoveProgress<RequestOf<"finish_resize">>;

const STEPS = stepList<FinishProgress>("finish_resize", {
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
    await services.context.driver.moves.finishMigration(migration, instance, request.diskInfo, {
      network: [],
      allocations,
      image: imageMeta(instance),
      resizeInstance: !hasSameDisks(oldFlavor, newFlavor),
      blockDevices: LOCAL_DISKS,
      powerOn: !wasStopped(move),
    });
  },
  record: async (progress) => {
    const { services, move } = progress;
    const { driver, runtime } = services.context;
    const powerState = await driver.powerState(move.instance);
    progress.move = await services.tracker.saveMove({
      ...move,
      changes: { vmState: "resized", taskState: null, powerState, launchedAt: runtime.clock.now() },
      expectedTaskState: ["resize_finish"],
      migrationChanges: { status: "finished" },
    });
  },
});

/** Spec 6.3 row 7, on the destination. */
export const FINISH_RESIZE = moveFlow<"finish_resize">({ steps: [STEPS], run: finish, onRejected });

/** @throws the error, unless the instance was taken by somebody else: then only the event has it. */
async function finish(call: Call<"finish_resize">, move: Move): Promise<void> {
  const { services, request } = call;
  try {
    await runOperation(call, STEPS, { services, request, move }, finishFailed);
  } finally {
    services.incoming.end(request.migrationId);
  }
}

/** Somebody else has the instance. */
async function onRejected(
  { services, request }: Call<"finish_resize">,
  move: Move,
  { kind, error }: AdmissionRejection,
): Promise<void> {
  services.incoming.end(request.migrationId);
  if (kind !== "ended") {
    await finishFailed({ services, request, move }, error);
  }
}

/** The instance stays here, with what it holds here (bug 1825537); the source's half goes. */
export async function finishFailed(progress: MoveProgress, error: unknown): Promise<void> {
  const { services, request, move } = progress;
  await succeeded(progress, "drop what the source's half of the move holds", () =>
    finishSource(services, move, { requestId: request.requestId, repeated: true }),
  );
  const { oldFlavor } = move.instance;
  const restores = hasQuirk(services.context, "restore-flavor-after-failed-finish") && oldFlavor !== null;
  const flavor = flavorColumns(restores ? oldFlavor : flavorsOf(move.instance, move.migration).newFlavor);
  if (isTaken(error)) {
    await setErrorIfSuperseded(services, move.instance, error, flavor);
    await failMove(progress, null, error);
    return;
  }
  await failMove(progress, { ...flavor, vmState: "error", taskState: null }, error);
  throw error;
}
