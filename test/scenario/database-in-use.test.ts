import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import { withSeedStore } from "../../src/control-plane/seed/seed.js";
import { nodeDigests } from "../../src/runtime/node/node-cryptography.js";
import { DATABASE_OPENERS, fileRuntime } from "../fixtures/database-openers.js";

// The engine waits half a second, in real time, for another process that is ending: too long for a unit test.

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "database-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const IN_USE =
  /^the database \S+\.sqlite cannot be used: another control plane or Placement is using it; stop that process, or select/;

test.each(Object.entries(DATABASE_OPENERS))(
  "a database file of %s is refused by name, with what to do, when another process has it",
  async (_name, open) => {
    const path = join(folder, "state.sqlite");
    const database = await open(path);
    const rejection = await open(path).catch((error: unknown) => error);
    expect(rejection).toMatchObject({ code: "DatabaseUnusable" });
    expect((rejection as Error).message).toMatch(IN_USE);
    database.close();
  },
);

test("a cluster file is not applied to the state of record of a control plane that serves", async () => {
  const place = { runtime: fileRuntime, digests: nodeDigests, directory: stateDir(folder, "/") };
  await withSeedStore(place, "write", async () => {
    await expect(withSeedStore(place, "write", async () => undefined)).rejects.toThrow(IN_USE);
  });
});
