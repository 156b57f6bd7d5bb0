import fc from "fast-check";
import { expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/control-plane/database/database-file.js";
import { Sql } from "../../../../src/control-plane/database/sql.js";

/** A write, or a transaction of steps that may throw at its end; its caller may catch that. */
type Step = "write" | { readonly steps: readonly Step[]; readonly ends: "well" | "caught" | "thrown" };

const { step } = fc.letrec<{ step: Step }>((tie) => ({
  step: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constant<Step>("write"),
    fc.record({
      steps: fc.array(tie("step"), { maxLength: 4 }),
      ends: fc.constantFrom<"well" | "caught" | "thrown">("well", "well", "caught", "thrown"),
    }),
  ),
}));

test.each(["transaction", "batch"] as const)(
  "in a %s, with any nesting, exactly the transactions that throw are rolled back",
  (kind) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const sql = new Sql(new DatabaseFile(":memory:"));
        sql.file.exec("CREATE TABLE t (n INTEGER)");
        let written = 0;
        let expectedRows: number[] = [];
        const inTransaction = (each: readonly Step[], thrown: boolean, begin: "transaction" | "batch"): void => {
          const before = expectedRows;
          try {
            sql[begin](() => {
              // Discards the expected rows of a first run that was rolled back.
              expectedRows = before;
              each.forEach(run);
              if (thrown) {
                throw new Error("stop");
              }
            });
          } catch (error) {
            expectedRows = before;
            throw error;
          }
        };
        const run = (each: Step): void => {
          if (each === "write") {
            written += 1;
            sql.run("INSERT INTO t VALUES (?)", written);
            expectedRows = [...expectedRows, written];
            return;
          }
          try {
            inTransaction(each.steps, each.ends !== "well", "transaction");
          } catch (error) {
            if (each.ends === "thrown") {
              throw error;
            }
          }
        };
        try {
          inTransaction(steps, false, kind);
        } catch {
          // Everything was rolled back.
        }
        expect(sql.all("SELECT n FROM t ORDER BY n").map(([n]) => n)).toEqual(expectedRows);
        expect(sql.file.inTransaction).toBe(false);
        sql.file.close();
      }),
      { numRuns: 300 },
    );
  },
);

test("a batch runs once without savepoints, unless a nested transaction failed after a write", () => {
  const sql = new Sql(new DatabaseFile(":memory:"));
  sql.file.exec("CREATE TABLE t (n INTEGER)");
  const prepared: string[] = [];
  const prepare = sql.file.prepare.bind(sql.file);
  sql.file.prepare = (text) => {
    prepared.push(text);
    return prepare(text);
  };
  let times = 0;
  let notificationCount = 0;
  const work = (written: boolean) => () => {
    times += 1;
    for (const n of [1, 2]) {
      try {
        sql.transaction(() => {
          if (n === 1 || written) {
            sql.run("INSERT INTO t VALUES (?)", n);
          }
          sql.afterCommit(() => {
            notificationCount += 1;
          });
          if (n === 2) {
            throw new Error("a part");
          }
        });
      } catch {
        // The other changes remain.
      }
    }
    // After the commit, the batch is over.
    sql.afterCommit(() => sql.transaction(() => sql.transaction(() => sql.run("INSERT INTO t VALUES (3)"))));
    return times;
  };
  const rows = () => sql.all("SELECT n FROM t ORDER BY n").map(([n]) => n);
  expect([sql.batch(work(false)), notificationCount, rows()]).toEqual([1, 1, [1, 3]]);
  expect(prepared.filter((text) => text.startsWith("SAVEPOINT"))).toEqual(["SAVEPOINT level_1"]);
  expect([sql.batch(work(true)), notificationCount, rows()]).toEqual([3, 2, [1, 1, 3, 3]]);
  sql.file.close();
});

test("after a batch that could not begin, the next transaction has savepoints", () => {
  const sql = new Sql(new DatabaseFile(":memory:"));
  sql.file.exec("CREATE TABLE t (n INTEGER)");
  sql.file.exec("BEGIN");
  expect(() => sql.batch(() => sql.run("INSERT INTO t VALUES (1)"))).toThrow("within a transaction");
  sql.file.exec("ROLLBACK");
  sql.transaction(() => {
    sql.run("INSERT INTO t VALUES (2)");
    const part = () =>
      sql.transaction(() => {
        sql.run("INSERT INTO t VALUES (3)");
        throw new Error("a part");
      });
    expect(part).toThrow("a part");
  });
  expect(sql.all("SELECT n FROM t").map(([n]) => n)).toEqual([2]);
  sql.file.close();
});
