import { DESTINATION_CHECK_STEPS } from "./checks.js";
import { ABORT_STEPS, FORCE_COMPLETE_STEPS } from "./control.js";
import { COPY_STEPS } from "./copy-guest.js";
import { POST_AT_DESTINATION_STEPS, PRE_STEPS, ROLLBACK_AT_DESTINATION_STEPS } from "./destination.js";
import { POST_STEPS } from "./finish-migration.js";
import { ROLLBACK_STEPS } from "./roll-back.js";

/** Every list of steps of a live migration, on both sides. */
export const LIVE_MIGRATION_STEPS = [
  DESTINATION_CHECK_STEPS,
  PRE_STEPS,
  COPY_STEPS,
  POST_STEPS,
  POST_AT_DESTINATION_STEPS,
  ROLLBACK_STEPS,
  ROLLBACK_AT_DESTINATION_STEPS,
  ABORT_STEPS,
  FORCE_COMPLETE_STEPS,
] as const;
