import { BUILD_INSTANCE } from "./build/build-instance.js";
import { REBUILD_INSTANCE } from "./build/rebuild-in-place.js";
import { CONFIRM_RESIZE, SETTLE_CONFIRMED } from "./cold-move/confirm-resize.js";
import { FINISH_RESIZE } from "./cold-move/finish-resize.js";
import { FINISH_REVERT_RESIZE } from "./cold-move/finish-revert-resize.js";
import { PREP_RESIZE } from "./cold-move/prep-resize.js";
import { RESIZE_INSTANCE } from "./cold-move/resize-instance.js";
import { REVERT_RESIZE } from "./cold-move/revert-resize.js";
import { TERMINATE_INSTANCE } from "./delete/delete-instance.js";
import { EVACUATE_INSTANCE } from "./evacuate/evacuate-instance.js";
import { LIVE_MIGRATION_STEPS } from "./live-migration/step-lists.js";
import { REBOOT_INSTANCE, START_INSTANCE, STOP_INSTANCE } from "./power/power.js";
import { RESCUE_INSTANCE } from "./states/rescue-instance.js";
import { SHELVE_INSTANCE } from "./states/shelve-instance.js";
import { SHELVE_OFFLOAD_INSTANCE } from "./states/shelve-offload.js";
import { STATE_CHANGES } from "./states/state-changes.js";
import { UNSHELVE_INSTANCE } from "./states/unshelve-instance.js";

interface Named {
  readonly operation: string;
  readonly names: readonly string[];
}

const LISTS: readonly Named[] = [
  BUILD_INSTANCE,
  TERMINATE_INSTANCE,
  EVACUATE_INSTANCE,
  REBUILD_INSTANCE,
  PREP_RESIZE,
  RESIZE_INSTANCE,
  FINISH_RESIZE,
  CONFIRM_RESIZE,
  SETTLE_CONFIRMED,
  REVERT_RESIZE,
  FINISH_REVERT_RESIZE,
  ...LIVE_MIGRATION_STEPS,
  START_INSTANCE,
  STOP_INSTANCE,
  REBOOT_INSTANCE,
  RESCUE_INSTANCE,
  SHELVE_INSTANCE,
  SHELVE_OFFLOAD_INSTANCE,
  UNSHELVE_INSTANCE,
  ...Object.values(STATE_CHANGES).map(({ steps }) => steps),
];

/** The steps of every operation by its name: what faults can be put before (step-list.ts). */
export const STEP_NAMES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  LISTS.map(({ operation, names }) => [operation, names]),
);
