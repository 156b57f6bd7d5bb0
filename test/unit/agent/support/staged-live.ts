import type { LiveMigrationOptions } from "../../../../src/virt/move-methods.js";
import { DISKS, FlowStage, REQUEST, type StageOptions } from "./flow-stage.js";
import { FROM_HERE } from "./staged-move.js";

/** The data of the destination's driver after the preparation. */
export const READY = { blockMigration: true, sharedInstanceFiles: false, ready: "there" };
export const OPTIONS = { network: [], blockDevices: DISKS, data: READY };
export const MESSAGE = { instanceUuid: "vm", migrationId: 7, requestId: REQUEST };

/** The calls that roll back a live migration on its source. */
export const BACK = [
  "placement.getAllocationsForConsumer",
  "placement.moveAllocations",
  "driver.rollbackLiveMigrationAtSource",
] as const;

/** Creates an instance to be live-migrated from here to `there`, whose agent takes it over on request. */
export function stagedLive(options: StageOptions = {}): FlowStage {
  const stage = new FlowStage({
    ...options,
    instance: { taskState: "migrating", ...options.instance },
    migration: { migrationType: "live-migration", status: "accepted", ...FROM_HERE, ...options.migration },
  });
  stage.replies["call pre_live_migration"] = READY;
  stage.replies["call post_live_migration_at_destination"] = () => takenOver(stage);
  return stage;
}

/** Moves the instance to the destination. */
export function takenOver(stage: FlowStage): null {
  stage.instance = stage.instance && { ...stage.instance, host: "there", node: "far", taskState: null };
  return null;
}

type Copy = (options: LiveMigrationOptions) => unknown;

export const moves: Copy = ({ postMethod }) => postMethod();

export function recovers(status: "failed" | "cancelled"): Copy {
  return ({ recoverMethod }) => recoverMethod({ status });
}

/** Sends the source its message; its driver copies as `copy` defines. */
export async function migrateLive(stage: FlowStage, copy: Copy = moves, data: object = {}): Promise<unknown> {
  let unexpected: unknown = null;
  stage.replies["driver.liveMigration"] = async (_: unknown, _dest: string, options: LiveMigrationOptions) => {
    try {
      return await copy(options);
    } catch (error) {
      // The operation would treat it as a driver's error.
      unexpected = error;
      throw error;
    }
  };
  const migrateData = { blockMigration: true, sharedInstanceFiles: false, destinationHost: "there", ...data };
  const failure = await stage.failure("live_migration", { dest: "there", blockMigration: null, data: migrateData });
  if (unexpected !== null) {
    throw unexpected;
  }
  return failure;
}
