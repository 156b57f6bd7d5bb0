import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DatabaseUnusable } from "../../src/cluster/database/database-errors.js";
import { stateDir } from "../../src/cluster/local/state-dir.js";
import { openDatabase } from "../../src/cluster/placement/store/database.js";
import { withSeedStore } from "../../src/cluster/seed/seed-store.js";
import { openStore } from "../../src/cluster/store/open-store.js";
import { nodeDigests } from "../../src/runtime/node/node-digests.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { createVirtualRuntime } from "../../src/simulation/create-virtual-runtime.js";
import { TestPlacement } from "../fixtures/world/placement.js";

// The engine waits half a second, in real time, for another process that is just ending: too long for a unit test.

const runtime = { ...createVirtualRuntime(), files: new NodeFiles() };
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "database-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const IN_USE =
  /^the database \S+\.sqlite cannot be used: another control plane or Placement uses it; stop that one, or name/;

test.each<[string, (path: string) => Promise<() => unknown>]>([
  [
    "the state of record",
    async (path) => {
      const store = await openStore({ path, runtime });
      return () => store.close();
    },
  ],
  [
    "Placement",
    async (path) => {
      const database = openDatabase(path);
      try {
        new TestPlacement({ ...runtime, database });
      } catch (error) {
        database.close();
        throw error;
      }
      return () => database.close();
    },
  ],
])("a database file of %s is refused by name, with what to do, when another process has it", async (_name, open) => {
  const path = join(folder, "state.sqlite");
  const close = await open(path);
  const refused = await open(path).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DatabaseUnusable);
  expect((refused as Error).message).toMatch(IN_USE);
  close();
});

test("a cluster file is not applied to the state of record of a control plane that serves", async () => {
  const place = { runtime, digests: nodeDigests, directory: stateDir(folder, "/") };
  await withSeedStore(place, "write", async () => {
    await expect(withSeedStore(place, "write", async () => undefined)).rejects.toThrow(IN_USE);
  });
});
