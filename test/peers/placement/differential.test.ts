import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { compareSequence } from "./compare.js";
import { placementOfTests } from "./placement-of-tests.js";
import { RealClient } from "./real-client.js";
import { searches, sequence } from "./sequences.js";
import { treeSearches } from "./tree-searches.js";

/** Nightly builds can increase the number of runs; FAST_CHECK_SEED selects other sequences. */
const RUNS = Number(process.env.PLACEMENT_DIFFERENTIAL_RUNS ?? 100);

describe("embedded Placement compared with Debian's", () => {
  const real = placementOfTests();
  const client = new RealClient();

  afterAll(() => client.close());

  it.each([
    { what: "random sequences of requests", steps: sequence, share: 1 },
    { what: "searches for candidates in random worlds", steps: searches, share: 0.5 },
    { what: "searches of several groups for one class in trees", steps: treeSearches, share: 0.5 },
  ])("responds to $what with the same status, headers and body", async ({ steps: arbitrary, share }) => {
    const { url, reset } = real();
    const numRuns = Math.ceil(RUNS * share);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(arbitrary, async (steps) => {
        await reset();
        compared += await compareSequence(steps, client, url);
      }),
      { numRuns },
    );
    expect(compared).toBeGreaterThan(numRuns);
  });
});
