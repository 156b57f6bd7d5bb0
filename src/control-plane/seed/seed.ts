import { join } from "node:path";
import type { Digests } from "../../runtime/cryptography.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { BlockStorageOptions } from "../block-storage/block-storage-options.js";
import { requireSchema } from "../database/schema-steps.js";
import { openIdentityStore } from "../identity/store/bootstrap.js";
import { IDENTITY_SCHEMA } from "../identity/store/identity-schema.js";
import { IdentityStore } from "../identity/store/identity-store.js";
import { SeededIdentityStore } from "../identity/store/seeded-identities.js";
import { ImageStore } from "../image/image-store.js";
import { IMAGE_SCHEMA, ImageTable } from "../image/image-tables.js";
import type { StateDir } from "../local/state-dir.js";
import type { StartNetworks } from "../network/start-networks.js";
import { openStore, openStoreToRead } from "../store/open-store.js";
import type { Store } from "../store/store.js";
import { exportVolumeSeed, volumeSteps } from "./block-storage/seed-volumes.js";
import type { VolumeSeed } from "./block-storage/volume-seed-schema.js";
import type { SeedStep } from "./change.js";
import type { NetworkSeed } from "./network/network-seed-schema.js";
import { exportNetworkSeed, type NetworkSeedParts, networkSteps } from "./network/seed-networks.js";
import { aggregateSteps, assertValidZones, type DesiredAggregates, exportAggregates } from "./seed-aggregates.js";
import { exportFlavors, flavorSteps } from "./seed-flavors.js";
import { exportImages, type ImageBytes, imageSteps } from "./seed-images.js";
import type { FlavorText, ImageText, ProjectText, UserText } from "./seed-schema.js";
import { exportProjects, exportUsers, ProjectNames, projectSteps, userSteps } from "./seed-users.js";

/** The database of a cluster, opened without its control plane. */
export interface SeedStore {
  readonly store: Store;
  readonly identities: SeededIdentityStore;
  readonly images: ImageTable;
  /** Stores image data. Only for a database that is opened for writing. */
  readonly imageStore: () => ImageStore;
}

export interface SeedPlace {
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "files" | "logger">;
  readonly digests: Digests;
  readonly directory: StateDir;
}

/** The desired contents of a cluster in addition to hosts; absent keys change nothing. */
export interface Seed {
  readonly flavors?: readonly FlavorText[] | undefined;
  readonly images?: readonly ImageText[] | undefined;
  /** By {@link keyOfImage}. */
  readonly imageBytes: ReadonlyMap<string, ImageBytes>;
  readonly aggregates?: DesiredAggregates | undefined;
  readonly projects?: readonly ProjectText[] | undefined;
  readonly users?: readonly UserText[] | undefined;
  readonly volumes?: VolumeSeed | undefined;
  /** The section `[block_storage]` of the control plane. Default: that of devstack. */
  readonly blockStorage?: Partial<BlockStorageOptions> | undefined;
  readonly networks?: NetworkSeed | undefined;
  /** The networks that the cloud starts with, if it has not started yet. Default: those of devstack. */
  readonly networkStart?: StartNetworks["start"] | undefined;
  /** The min number of bare-metal nodes; the control plane creates missing ones at its start. */
  readonly ironicNodes: number;
}

/**
 * Returns the changes that produce the desired contents.
 * @throws {ClusterError} `SeedRefused`
 */
export function seedSteps(parts: SeedStore, seed: Seed, { runtime, digests }: SeedPlace): readonly SeedStep[] {
  const { store, identities } = parts;
  const { random } = runtime;
  const desiredProjectNames = (seed.projects ?? []).map(({ name }) => name);
  const projects = new ProjectNames(digests, identities.projectIds(), desiredProjectNames);
  const imageParts = { table: parts.images, store: parts.imageStore, random, projects };
  const { flavors, images, aggregates } = seed;
  if (aggregates !== undefined) {
    assertValidZones(store, aggregates);
  }
  const nodes = ironicNodes(store);
  const enrolled: SeedStep = {
    sign: "+",
    text: `ironic nodes: ${nodes} -> ${seed.ironicNodes}`,
    destroys: false,
    apply: () => undefined,
  };
  return [
    ...(seed.ironicNodes > nodes ? [enrolled] : []),
    ...(seed.projects === undefined ? [] : projectSteps(identities, seed.projects)),
    ...(seed.users === undefined ? [] : userSteps(identities, seed.users)),
    ...(flavors === undefined ? [] : flavorSteps({ store, random, projects }, flavors, seed.ironicNodes > 0)),
    ...(images === undefined ? [] : imageSteps(imageParts, images, seed.imageBytes)),
    ...(aggregates === undefined ? [] : aggregateSteps(store, aggregates)),
    ...(seed.networks === undefined
      ? []
      : networkSteps(networkParts(parts, runtime, projects, seed.networkStart), seed.networks)),
    ...(seed.volumes === undefined
      ? []
      : volumeSteps({ sql: store.database, runtime, projects, options: seed.blockStorage ?? {} }, seed.volumes)),
  ];
}

function networkParts(
  { store, identities }: SeedStore,
  runtime: SeedPlace["runtime"],
  projects: ProjectNames,
  start: StartNetworks["start"] = "devstack",
): NetworkSeedParts {
  const ids = identities.projectIds();
  const [admin, demo] = [ids.get("admin"), ids.get("demo")];
  return {
    sql: store.database,
    runtime,
    projects,
    start: { start, projects: { ...(admin !== undefined && { admin }), ...(demo !== undefined && { demo }) } },
  };
}

/** Returns the number of nodes of the embedded Ironic. */
export function ironicNodes({ database }: Pick<Store, "database">): number {
  const table = database.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ironic_nodes'");
  return table === undefined ? 0 : database.number("SELECT count(*) FROM ironic_nodes");
}

/** Applies all changes in one transaction; then stores the image data. */
export async function applySeed({ store }: SeedStore, steps: readonly SeedStep[]): Promise<void> {
  store.transaction(() => {
    for (const { apply } of steps) {
      apply();
    }
  });
  for (const { after } of steps) {
    await after?.();
  }
}

/** Returns the contents of the cluster in the form of a file. */
export function exportSeed(parts: SeedStore, { runtime, digests, directory }: SeedPlace) {
  const { store, identities } = parts;
  const projects = new ProjectNames(digests, identities.projectIds());
  const { random } = runtime;
  const imageParts = { table: parts.images, store: parts.imageStore, random, projects };
  return {
    flavors: exportFlavors({ store, random, projects }),
    images: exportImages(imageParts, ({ id }) => join(directory.glance, id)),
    aggregates: exportAggregates(store),
    projects: exportProjects(identities),
    users: exportUsers(identities),
    ...exportNetworkSeed(networkParts(parts, runtime, projects)),
    ...exportVolumeSeed({ sql: store.database, runtime, projects, options: {} }),
  };
}

/**
 * @param mode `read`: works while the cluster runs; `write`: fails if a control plane uses the database
 * @throws {DatabaseUnusable} if a control plane uses it
 * @throws {DatabaseTooNew}
 * @throws {DatabaseTooOld} if it is opened for reading
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
