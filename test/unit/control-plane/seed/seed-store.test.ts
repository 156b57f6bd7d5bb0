import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { quietLogger } from "../../../../src/cli/ui/logging.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { type SeedPlace, withSeedStore } from "../../../../src/control-plane/seed/seed.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";

let folder: string;
let place: SeedPlace;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-agent-seed-"));
  const runtime = createNodeRuntime({ logger: quietLogger });
  place = { runtime, digests: nodeDigests, directory: stateDir(folder, "/") };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const TINY = { flavorid: "1", name: "tiny", vcpus: 1, memoryMb: 1, rootGb: 0 };

it("reads a missing database as an empty one, and does not create it", async () => {
  expect(await withSeedStore(place, "read", async ({ store }) => store.flavors.list())).toEqual([]);
  expect(await place.runtime.files.list(folder)).toEqual([]);
});

it("reads a database that is in use, and cannot change it", async () => {
  await withSeedStore(place, "write", async ({ store }) => {
    store.flavors.create(TINY);
    await withSeedStore(place, "read", async (reader) => {
      expect(reader.store.flavors.list()).toMatchObject([{ name: "tiny" }]);
      expect(reader.identities.read()).toEqual({ projects: [], users: [] });
      expect(reader.images.list()).toEqual([]);
      expect(() => reader.store.flavors.destroy("1")).toThrow();
    });
  });
});

it("rejects tables of an older program, which a start migrates", async () => {
  await withSeedStore(place, "write", async ({ store }) => {
    store.database.run("DELETE FROM schema_steps WHERE component = 'identity'");
    const tables = store.database.all("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'identity_%'");
    for (const [name] of tables) {
      store.database.run(`DROP TABLE ${name}`);
    }
  });
  await expect(withSeedStore(place, "read", async () => undefined)).rejects.toThrow(
    "has no identity tables, or those of an older program; start the cluster once to migrate them",
  );
  await withSeedStore(place, "write", async () => undefined);
  expect(await withSeedStore(place, "read", async ({ identities }) => identities.read().users)).toEqual([]);
});
