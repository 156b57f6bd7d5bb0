import { SET_ASIDE_BY } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import { setErrorIfSuperseded } from "../flow/error-when-superseded.js";
import { type MoveProgress, succeeded, wasStopped } from "./move-request.js";

/**
 * Undoes on the source what a move has set aside there, when another request has taken the instance and leaves it here: that
 * request may fail, or be taken back. A delete destroys it from where it is; an evacuation decides by itself (2.6 row 15').
 * @param cause what ended the move
 */
export async function bringGuestBack(progress: MoveProgress, cause: unknown): Promise<void> {
  const { services, move } = progress;
  const { conductor, driver, host } = services.context;
  const { migration } = move;
  const now = await conductor.call("instance_get", { uuid: migration.instanceUuid });
  const stays = now?.host === host && (now.taskState === null || now.taskState === "soft-deleting");
  if (migration.status !== "migrating" || !stays || now.systemMetadata[SET_ASIDE_BY] !== undefined) {
    return;
  }
  const isBack = await succeeded(progress, "bring back the guest that the move has set aside", () =>
    driver.moves.finishRevertMigration(now, {
      network: [],
      migration,
      blockDevices: LOCAL_DISKS,
      powerOn: !wasStopped(move),
    }),
  );
  if (!isBack) {
    await setErrorIfSuperseded(services, now, cause);
  }
}
