import { FaultFile } from "../faults/fault-file.js";
import type { Runtime } from "../runtime/runtime.js";
import type { BlockStorageOptions } from "./block-storage/block-storage-options.js";
import { type BlockStorageService, createBlockStorageService } from "./block-storage/block-storage-service.js";
import { createBlockStorageTables } from "./block-storage/block-storage-tables.js";
import { BLOCK_STORAGE_FAULTS } from "./block-storage/work/run-work.js";
import type { ValidateToken } from "./credentials.js";
import { ImageTable, MemberTable } from "./image/image-tables.js";
import { createVolumeImages } from "./image/volume-images.js";
import type { StateDir } from "./local/state-dir.js";
import type { Store } from "./store/store.js";

export interface ClusterBlockStorageOptions {
  readonly store: Store;
  readonly runtime: Runtime;
  readonly validate: ValidateToken;
  readonly directory: Pick<StateDir, "blockStorage">;
  readonly options?: Partial<BlockStorageOptions>;
}

/**
 * Opens the embedded Block Storage service over the store, with fault rules from its folder of the state directory. Its
 * work runs in the cluster's task runner.
 */
export async function openClusterBlockStorage({
  store,
  runtime,
  validate,
  directory,
  options,
}: ClusterBlockStorageOptions): Promise<BlockStorageService & { readonly stop: () => Promise<void> }> {
  const { clock, timers, random } = runtime;
  const logger = runtime.logger.child({ service: "block-storage" });
  const sql = store.database;
  const faults = new FaultFile(directory.blockStorage, BLOCK_STORAGE_FAULTS, { ...runtime, logger });
  await faults.open();
  createBlockStorageTables(sql);
  const service = createBlockStorageService({
    ...{ sql, clock, timers, random, logger, validate },
    images: createVolumeImages({ table: new ImageTable(sql, clock), members: new MemberTable(sql, clock) }, random),
    // Servers have no volumes yet.
    servers: { attachmentOf: () => undefined },
    faults: faults.faults,
    ...(options && { options }),
    enqueue: ({ id, ...work }) => void store.tasks.add({ kind: "block_storage", instanceUuid: id, ...work }),
  });
  return { ...service, stop: () => faults.close() };
}
