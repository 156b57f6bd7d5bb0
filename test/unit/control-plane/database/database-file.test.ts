import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DATABASE_OPENERS } from "../../../fixtures/database-openers.js";

/** The statements that raise the recorded schema version of each component. */
const LATER = {
  "the state of record": "UPDATE schema_steps SET version = version + 100",
  Placement: "UPDATE placement_schema SET version = version + 100",
};

describe.each(Object.entries(DATABASE_OPENERS))("a database file that %s opens", (name, open) => {
  let folder = "";
  let path = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "database-"));
    path = join(folder, "state.sqlite");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const getOpenError = async (): Promise<Error> => {
    const error = await open(path).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return error instanceof Error ? error : new Error("it was opened");
  };

  /**
   * Copies the file as a terminated process would leave it: SQLite retains an open file until its statements are
   * collected.
   */
  const leave = async (change = "SELECT 1"): Promise<void> => {
    const database = await open(join(folder, "first.sqlite"));
    database.exec(change);
    database.exec(`VACUUM INTO '${path}'`);
    database.close();
  };

  it("is rejected with a hint if it is not a database", async () => {
    writeFileSync(path, "shopping list: milk, bread, and a thousand other things".repeat(20));
    const error = await getOpenError();
    expect(error).toMatchObject({ code: "DatabaseUnusable" });
    expect(error.message).toBe(
      `the database ${path} cannot be used: it is not an SQLite database; move it and its -wal ` +
        "file away to start with an empty database, or select another one with --state-dir (compute-agent placement: --database)",
    );
  });

  it("is rejected with a hint if it is damaged", async () => {
    await leave();
    writeFileSync(path, readFileSync(path).fill(0xff, 100));
    const error = await getOpenError();
    expect(error).toMatchObject({ code: "DatabaseUnusable" });
    expect(error.message).toBe(
      `the database ${path} cannot be used: it is damaged; replace it by a backup, move ` +
        "it and its -wal file away to start with an empty database, or select another one with --state-dir (compute-agent placement: --database)",
    );
  });

  it("is rejected with a hint if a newer program wrote it", async () => {
    await leave(LATER[name as keyof typeof LATER]);
    const error = await getOpenError();
    expect(error).toMatchObject({ code: "DatabaseTooNew" });
    expect(error.message).toMatch(
      /^the database \S+\/state\.sqlite has version 1\d\d of the (conductor|placement) tables, but this program supports only versions up to \d+: start the newer program again, or select another one with --state-dir/,
    );
  });

  it("is rejected with a hint if its disk is full", async () => {
    path = "/dev/full";
    const error = await getOpenError();
    expect(error).toMatchObject({ code: "DatabaseUnusable" });
    expect(error.message).toMatch(
      /^the database \/dev\/full cannot be used: .*its disk is full; free space, then start/,
    );
  });

  it("is rejected with a hint if it is a folder", async () => {
    path = folder;
    const error = await getOpenError();
    expect(error).toMatchObject({ code: "DatabaseUnusable" });
    expect(error.message).toMatch(
      /cannot be used: its folder is missing or not writable, or the path is a folder; select/,
    );
  });
});
