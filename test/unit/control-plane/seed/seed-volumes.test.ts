import { beforeEach, describe, expect, it } from "vitest";
import { VOLUMES } from "../../../../src/control-plane/block-storage/resources/volumes.js";
import { openIdentityStore } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { SeededIdentityStore } from "../../../../src/control-plane/identity/store/seeded-identities.js";
import { ImageStore } from "../../../../src/control-plane/image/image-store.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { EVERY } from "../../../../src/control-plane/resources/condition.js";
import { ResourceTable } from "../../../../src/control-plane/resources/resource-table.js";
import type { VolumeSeed } from "../../../../src/control-plane/seed/block-storage/volume-seed-schema.js";
import {
  applySeed,
  exportSeed,
  type SeedPlace,
  type SeedStore,
  seedSteps,
} from "../../../../src/control-plane/seed/seed.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

let place: SeedPlace;
let parts: SeedStore;

const BACK_ENDS = [
  { name: "fast", availabilityZone: "east", capacity: 10 },
  { name: "slow", availabilityZone: "west", capacity: 100 },
];

beforeEach(() => {
  const runtime = createVirtualRuntime();
  const { clock, files, logger } = runtime;
  place = { runtime, digests: nodeDigests, directory: stateDir("/state", "/") };
  const store = emptyStore({ runtime });
  const sql = store.database;
  const identity = openIdentityStore(sql, nodeDigests, 0);
  const images = new ImageStore({ sql, clock, files, logger, digests: nodeDigests, folder: "/state/glance" });
  parts = {
    store,
    identities: new SeededIdentityStore(identity, nodeDigests),
    images: images.table,
    imageStore: () => images,
  };
});

function stepsOf(volumes: VolumeSeed) {
  const blockStorage = { backEnds: BACK_ENDS, maxOverSubscriptionRatio: 1 };
  return seedSteps(parts, { imageBytes: new Map(), ironicNodes: 0, volumes, blockStorage }, place);
}

function describeSteps(seed: VolumeSeed): readonly string[] {
  return stepsOf(seed).map(({ sign, text, destroys }) => `${sign} ${text}${destroys ? " !" : ""}`);
}

/** Applies the seed; checks that neither it nor the exported file changes anything afterwards. */
async function settle(seed: VolumeSeed): Promise<readonly string[]> {
  const found = describeSteps(seed);
  await applySeed(parts, stepsOf(seed));
  expect(describeSteps(seed)).toEqual([]);
  const { volume_types: types = [], volumes = [] } = exportSeed(parts, place);
  expect(describeSteps({ ...(seed.types && { types }), ...(seed.volumes && { volumes }) })).toEqual([]);
  return found;
}

const storedVolumes = () => new ResourceTable(parts.store.database, VOLUMES).find(EVERY);

const DATA = { name: "data", project: "demo", size: 5 };

describe("volumes of a cluster file", () => {
  it("are created once on a back end of their type and zone, without regard to quotas", async () => {
    const logs = { name: "logs", size: 50, type: "slow", availability_zone: "west", bootable: true };
    expect(await settle({ volumes: [DATA, logs] })).toEqual([
      "+ volume data of project demo: 5 GiB",
      "+ volume logs of project admin: 50 GiB",
    ]);
    expect(storedVolumes().map(({ name, host, status, bootable }) => ({ name, host, status, bootable }))).toEqual([
      { name: "data", host: "devstack@fast#fast", status: "available", bootable: false },
      { name: "logs", host: "devstack@slow#slow", status: "available", bootable: true },
    ]);
    const many = Array.from({ length: 12 }, (_, index) => ({ ...logs, name: `logs${index}`, size: 1 }));
    expect(await settle({ volumes: [DATA, logs, ...many] })).toHaveLength(12);
  });

  it("grow in place, and are replaced if they shrink or move to another zone", async () => {
    await settle({ volumes: [DATA] });
    const [before] = storedVolumes();
    const grown = { ...DATA, size: 8, metadata: { purpose: "db" }, description: "Data" };
    expect(await settle({ volumes: [grown] })).toEqual([
      '~ volume data of project demo: size 5 -> 8, description  -> Data, metadata {} -> {"purpose":"db"}',
    ]);
    expect(storedVolumes()[0]?.id).toBe(before?.id);
    expect(await settle({ volumes: [DATA] })).toEqual([expect.stringMatching(/^~ volume data .*size 8 -> 5.* !$/)]);
    expect(storedVolumes()[0]?.id).not.toBe(before?.id);
  });

  it("are deleted when the file no longer has them, those of clients stay", async () => {
    await settle({ volumes: [DATA] });
    expect(await settle({ volumes: [] })).toEqual(["- volume data of project demo !"]);
    expect(storedVolumes()).toEqual([]);
  });

  it("are rejected before anything changes if no back end takes them", () => {
    const large = { ...DATA, name: "large", size: 11 };
    expect(() => stepsOf({ volumes: [DATA, large] })).toThrow(
      "volumes.1 (large): no back end of its type and zone has enough capacity",
    );
    const unknown = { ...DATA, type: "none" };
    expect(() => stepsOf({ volumes: [unknown] })).toThrow(
      "volumes.0 (data): Volume type with name none could not be found.",
    );
    expect(storedVolumes()).toEqual([]);
  });
});

describe("volume types of a cluster file", () => {
  const SHARED = { name: "shared", extra_specs: { multiattach: "<is> True" } };

  it("are created before the volumes that use them, and removed after them", async () => {
    const volume = { ...DATA, type: "shared" };
    expect(await settle({ types: [SHARED], volumes: [volume] })).toEqual([
      "+ volume type shared",
      "+ volume data of project demo: 5 GiB",
    ]);
    expect(storedVolumes()[0]?.multiattach).toBe(true);
    expect(() => stepsOf({ types: [] })).toThrow(
      "volume_types: type shared is not in the file, but cannot be deleted: Target volume type is still in use.",
    );
    expect(await settle({ types: [], volumes: [] })).toEqual([
      "- volume data of project demo !",
      "- volume type shared !",
    ]);
  });

  it("change in place with their specs and the projects that may use them", async () => {
    await settle({ types: [SHARED] });
    const secret = { name: "shared", is_public: false, access: ["demo"], extra_specs: { volume_backend_name: "fast" } };
    expect(await settle({ types: [secret] })).toHaveLength(1);
    expect(exportSeed(parts, place).volume_types).toEqual([secret]);
  });

  it("belong to the file from then on if they are those of the start", async () => {
    const fast = { name: "fast", extra_specs: { volume_backend_name: "fast" } };
    expect(await settle({ types: [fast] })).toEqual(["~ volume type fast: belongs to the file"]);
  });
});
