import type { Digests } from "../../runtime/digests.js";
import type { Runtime } from "../../runtime/runtime.js";
import { openIdentityStore } from "../identity/store/bootstrap.js";
import { IDENTITY_SCHEMA } from "../identity/store/identity-schema.js";
import { IdentityStore } from "../identity/store/identity-store.js";
import { SeededIdentityStore } from "../identity/store/user-store.js";
import { ImageStore } from "../image/image-store.js";
import { ImageTable } from "../image/image-table.js";
import { IMAGE_SCHEMA } from "../image/image-tables.js";
import type { StateDir } from "../local/state-dir.js";
import { openStore, openStoreToRead } from "../store/open-store.js";
import { requireSchema } from "../store/schema/apply-schema.js";
import type { Store } from "../store/store.js";

/** The state of record of a cluster, without a control plane over it. */
export interface SeedStore {
  readonly store: Store;
  readonly identities: SeededIdentityStore;
  readonly images: ImageTable;
  /** Takes bytes. Only of a store that is opened to write. */
  readonly imageStore: () => ImageStore;
}

export interface SeedPlace {
  readonly runtime: Pick<Runtime, "clock" | "random" | "files" | "logger">;
  readonly digests: Digests;
  readonly directory: StateDir;
}

/**
 * @param mode `read`: also while the cluster runs; `write`: no control plane may have it
 * @throws {DatabaseUnusable} one has it. @throws {DatabaseTooNew} @throws {DatabaseTooOld} of one that is read
 */
export async function withSeedStore<T>(
  { runtime, digests, directory }: SeedPlace,
  mode: "read" | "write",
  work: (parts: SeedStore) => Promise<T>,
): Promise<T> {
  const { clock, files, logger } = runtime;
  const open = mode === "read" ? openStoreToRead : openStore;
  const store = await open({ path: directory.database, runtime });
  try {
    const sql = store.database;
    const isReal = sql.file.path === directory.database;
    if (mode === "read" && isReal) {
      requireSchema(sql, "identity", IDENTITY_SCHEMA);
      requireSchema(sql, "image", IMAGE_SCHEMA);
    }
    const identity = mode === "read" && isReal ? new IdentityStore(sql) : openIdentityStore(sql, digests, clock.now());
    return await work({
      store,
      identities: new SeededIdentityStore(identity, digests),
      images: new ImageTable(sql, clock),
      imageStore: () => new ImageStore({ sql, clock, files, logger, digests, folder: directory.glance }),
    });
  } finally {
    store.close();
  }
}
