import { describe, expect, it } from "vitest";
import { OPERATIONS, prepared } from "./scheduler-operations.js";

/** Waits for everything that does not depend on the hanging request. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("conductor killed before and after each request that it sends", () => {
  for (const [what, operation] of Object.entries(OPERATIONS)) {
    it(`${what}: ends as if nothing had happened, once`, async () => {
      const baseline = await prepared(operation);
      await baseline.bench.run(baseline.task);
      const requests = baseline.bench.placementBench.sent.length;
      await baseline.holds();
      expect(requests).toBeGreaterThan(0);

      for (let request = 0; request < requests; request += 1) {
        for (const does of ["hang", "hang-after"] as const) {
          const { bench, task, holds } = await prepared(operation);
          bench.placementBench.inject({ on: "*", does, skip: request });
          void bench.run(task);
          await settle();
          expect(bench.casts, `killed at request ${request}`).toEqual([]);
          await bench.restart();
          await holds();
          expect(bench.store.tasks.pending()).toEqual([]);
        }
      }
    });
  }
});
