import type { ContractCase } from "../contract-case.js";
import { COLD_MOVE_CASES } from "./cold-moves.js";
import { DATA_CASES } from "./data.js";
import { DESTRUCTION_CASES } from "./destruction.js";
import { FENCING_CASES, MANNERS_CASES, OTHER_CASES } from "./every-method.js";
import { GUEST_CASES } from "./guests.js";
import { HOST_CASES, REPORT_CASES } from "./host.js";
import { IMAGE_CASES, SNAPSHOT_CASES } from "./images.js";
import { LIVE_MIGRATION_CASES } from "./live-migration.js";
import { POWER_CASES } from "./power.js";
import { PROVIDER_TREE_CASES, RESHAPE_CASES } from "./provider-tree.js";
import { VOLUME_CASES } from "./volumes.js";

/** The complete contract, in the order of its sections. */
export const CONTRACT_CASES: readonly ContractCase[] = [
  ...MANNERS_CASES,
  ...HOST_CASES,
  ...GUEST_CASES,
  ...DESTRUCTION_CASES,
  ...SNAPSHOT_CASES,
  ...IMAGE_CASES,
  ...REPORT_CASES,
  ...POWER_CASES,
  ...COLD_MOVE_CASES,
  ...LIVE_MIGRATION_CASES,
  ...DATA_CASES,
  ...VOLUME_CASES,
  ...FENCING_CASES,
  ...OTHER_CASES,
  ...PROVIDER_TREE_CASES,
  ...RESHAPE_CASES,
];
