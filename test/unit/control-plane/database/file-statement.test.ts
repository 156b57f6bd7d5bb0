import { beforeEach, describe, expect, it } from "vitest";
import { DatabaseFile, UnstorableValue } from "../../../../src/control-plane/database/database-file.js";

describe("a statement without rows", () => {
  let file: DatabaseFile;
  beforeEach(() => {
    file = new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]);
    file.exec("CREATE TABLE parts (id INTEGER PRIMARY KEY, name TEXT UNIQUE, amount INTEGER CHECK (amount >= 0))");
    file.exec("CREATE TABLE uses (part INTEGER REFERENCES parts (id) DEFERRABLE INITIALLY DEFERRED)");
  });

  const parts = () => file.prepare("SELECT id, name, amount FROM parts ORDER BY id").raw().all();

  it("accepts new values at each execution, and is finished when it returns", () => {
    const insert = file.prepare("INSERT INTO parts VALUES (?, ?, ?), (?, ?, ?)");
    insert.execute(1, "a", 1, 2, "b", 2);
    insert.execute(3, "c", 3, 4, "d", 4);
    expect(file.inTransaction).toBe(false);
    expect(parts()).toEqual([
      [1, "a", 1],
      [2, "b", 2],
      [3, "c", 3],
      [4, "d", 4],
    ]);
  });

  it.each([
    ["a unique index", [2, "a", 1], "UNIQUE constraint failed: parts.name"],
    ["a check", [2, "b", -1], "CHECK constraint failed: amount >= 0"],
  ] as const)("accepts new values after %s has rejected others", (_what, values, text) => {
    const insert = file.prepare("INSERT INTO parts VALUES (?, ?, ?)");
    insert.execute(1, "a", 1);
    expect(() => insert.execute(...values)).toThrow(text);
    insert.execute(2, "b", 2);
    insert.execute(3, "c", 3);
    expect(parts()).toEqual([
      [1, "a", 1],
      [2, "b", 2],
      [3, "c", 3],
    ]);
  });

  it("accepts new values after an execution that returned the number of changes", () => {
    const insert = file.prepare("INSERT INTO parts VALUES (?, ?, ?)");
    expect(insert.run(1, "a", 1)).toMatchObject({ changes: 1, lastInsertRowid: 1 });
    insert.execute(2, "b", 2);
    expect(insert.run(3, "c", 3)).toMatchObject({ changes: 1, lastInsertRowid: 3 });
    expect(parts()).toHaveLength(3);
  });

  it("commits after a commit that was rejected", () => {
    const [begin, commit] = [file.prepare("BEGIN IMMEDIATE"), file.prepare("COMMIT")];
    const use = file.prepare("INSERT INTO uses VALUES (?)");
    begin.execute();
    use.execute(1);
    expect(() => commit.execute()).toThrow("FOREIGN KEY constraint failed");
    expect(file.inTransaction).toBe(true);
    file.exec("ROLLBACK");
    for (const id of [1, 2]) {
      begin.execute();
      file.prepare("INSERT INTO parts VALUES (?, ?, ?)").execute(id, `part ${id}`, 1);
      use.execute(id);
      commit.execute();
    }
    expect(file.inTransaction).toBe(false);
    expect(file.prepare("SELECT part FROM uses").raw().all()).toEqual([[1], [2]]);
  });
});

it.each([[true], [undefined], [{}], [1n]])("values that would end the process are rejected: %s", (value) => {
  const file = new DatabaseFile(":memory:");
  const statement = file.prepare("SELECT ?").raw();
  const values = [value] as unknown as string[];
  for (const method of ["run", "execute", "get", "all"] as const) {
    expect(() => statement[method](...values)).toThrow(UnstorableValue);
  }
  expect(statement.all("text")).toEqual([["text"]]);
});
