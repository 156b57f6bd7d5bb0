import { join } from "node:path";
import type { Store } from "../store/store.js";
import type { SeedStep } from "./change.js";
import { ProjectNames } from "./project-names.js";
import { aggregateSteps, assertValidZones, type DesiredAggregates, exportAggregates } from "./seed-aggregates.js";
import { exportFlavors, flavorSteps } from "./seed-flavors.js";
import { exportImages, type ImageBytes, imageSteps } from "./seed-images.js";
import type { AggregateText, FlavorText, ImageText, ProjectText, UserText } from "./seed-schema.js";
import type { SeedPlace, SeedStore } from "./seed-store.js";
import { exportProjects, exportUsers, projectSteps, userSteps } from "./seed-users.js";

/** What a cluster is to have besides hosts; what is absent is left as it is. */
export interface Seed {
  readonly flavors?: readonly FlavorText[] | undefined;
  readonly images?: readonly ImageText[] | undefined;
  /** By {@link keyOfImage}. */
  readonly imageBytes: ReadonlyMap<string, ImageBytes>;
  readonly aggregates?: DesiredAggregates | undefined;
  readonly projects?: readonly ProjectText[] | undefined;
  readonly users?: readonly UserText[] | undefined;
  /** Bare-metal nodes that there are at least; the control plane makes those that are missing when it starts. */
  readonly ironicNodes: number;
}

/** What is to be done so that the cluster has this. @throws {SeedRefused} */
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
    ...(seed.projects === undefined ? [] : projectSteps({ identities }, seed.projects)),
    ...(seed.users === undefined ? [] : userSteps({ identities }, seed.users)),
    ...(flavors === undefined ? [] : flavorSteps({ store, random, projects }, flavors, seed.ironicNodes > 0)),
    ...(images === undefined ? [] : imageSteps(imageParts, images, seed.imageBytes)),
    ...(aggregates === undefined ? [] : aggregateSteps(store, aggregates)),
  ];
}

/** Nodes that the embedded Ironic has. */
export function ironicNodes({ database }: Pick<Store, "database">): number {
  const table = database.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ironic_nodes'");
  return table === undefined ? 0 : Number(database.get("SELECT count(*) FROM ironic_nodes")?.[0] ?? 0);
}

/** All of it or nothing; bytes of images come after. */
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

/** The same that a file would say. */
export function exportSeed(parts: SeedStore, { runtime, digests, directory }: SeedPlace) {
  const { store, identities } = parts;
  const projects = new ProjectNames(digests, identities.projectIds());
  const { random } = runtime;
  const imageParts = { table: parts.images, store: parts.imageStore, random, projects };
  return {
    flavors: exportFlavors({ store, random, projects }),
    images: exportImages(imageParts, ({ id }) => join(directory.glance, id)),
    aggregates: exportAggregates(store),
    projects: exportProjects({ identities }),
    users: exportUsers({ identities }),
  } satisfies Record<string, readonly (FlavorText | ImageText | AggregateText | ProjectText | UserText)[]>;
}
