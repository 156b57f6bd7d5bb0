import fc from "fast-check";
import { expect, test } from "vitest";
import { DatabaseFile } from "../../../../src/cluster/database/database-file.js";
import { Sql } from "../../../../src/cluster/store/sql.js";

/** A write, or a transaction of such steps, which throws at its end or not; who began it catches that or not. */
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

test("whatever is nested in what, exactly that is undone which throws", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      const sql = new Sql(new DatabaseFile(":memory:"));
      sql.file.exec("CREATE TABLE t (n INTEGER)");
      let written = 0;
      let kept: number[] = [];
      const inTransaction = (each: readonly Step[], thrown: boolean): void => {
        const before = kept;
        try {
          sql.transaction(() => {
            each.forEach(run);
            if (thrown) {
              throw new Error("stop");
            }
          });
        } catch (error) {
          kept = before;
          throw error;
        }
      };
      const run = (each: Step): void => {
        if (each === "write") {
          written += 1;
          sql.run("INSERT INTO t VALUES (?)", written);
          kept = [...kept, written];
          return;
        }
        try {
          inTransaction(each.steps, each.ends !== "well");
        } catch (error) {
          if (each.ends === "thrown") {
            throw error;
          }
        }
      };
      try {
        inTransaction(steps, false);
      } catch {
        // All of it was undone.
      }
      expect(sql.all("SELECT n FROM t ORDER BY n").map(([n]) => n)).toEqual(kept);
      expect(sql.file.inTransaction).toBe(false);
      sql.file.close();
    }),
    { numRuns: 300 },
  );
});
