import { FaultFile } from "../faults/fault-file.js";
import type { Runtime } from "../runtime/runtime.js";
import type { BlockStorageOptions } from "./block-storage/block-storage-options.js";
import {
  type BlockStorageService,
  type BlockStorageServiceOptions,
  createBlockStorageService,
} from "./block-storage/block-storage-service.js";
import { createBlockStorageTables } from "./block-storage/block-storage-tables.js";
import { BLOCK_STORAGE_FAULTS } from "./block-storage/work/run-work.js";
import { createAttachedServers } from "./conductor/attached-servers.js";
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
  const logger = runtime.logger.child({ service: "block-storage" });
  const faults = new FaultFile(directory.blockStorage, BLOCK_STORAGE_FAULTS, { ...runtime, logger });
  await faults.open();
  const service = createClusterBlockStorage({
    store,
    runtime: { ...runtime, logger },
    validate,
    faults: faults.faults,
    ...(options && { options }),
  });
  return { ...service, stop: () => faults.close() };
}

interface ClusterBlockStorageParts extends Pick<ClusterBlockStorageOptions, "store" | "validate" | "options"> {
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  readonly faults: BlockStorageServiceOptions["faults"];
}

/** Creates the service over the store, whose images and servers it knows. @internal */
export function createClusterBlockStorage({
  store,
  runtime,
  validate,
  faults,
  options,
}: ClusterBlockStorageParts): BlockStorageService {
  const { clock, random } = runtime;
  const sql = store.database;
  createBlockStorageTables(sql);
  return createBlockStorageService({
    ...runtime,
    ...{ sql, validate, faults },
    ...(options && { options }),
    images: createVolumeImages({ table: new ImageTable(sql, clock), members: new MemberTable(sql, clock) }, random),
    servers: createAttachedServers(store, random),
    enqueue: ({ id, ...work }) => void store.tasks.add({ kind: "block_storage", instanceUuid: id, ...work }),
  });
}
