import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { compareSequence } from "./compare.js";
import { RealClient } from "./real-client.js";
import { HOW_TO_INSTALL, isInstalled, type RealPlacement, startRealPlacement } from "./real-placement.js";
import { searches, sequence } from "./sequences.js";
import { treeSearches } from "./tree-searches.js";

/** With more runs a nightly build may look further; FAST_CHECK_SEED looks elsewhere. */
const RUNS = Number(process.env.PLACEMENT_DIFFERENTIAL_RUNS ?? 100);

describe("embedded Placement beside Debian's real one", () => {
  let real: RealPlacement | undefined;
  const client = new RealClient();

  beforeAll(async () => {
    if (isInstalled()) {
      real = await startRealPlacement();
    }
  }, 60_000);

  beforeEach((context) => {
    if (real !== undefined) {
      return;
    }
    if (process.env.CI === "true") {
      expect.fail(HOW_TO_INSTALL);
    }
    context.skip(HOW_TO_INSTALL);
  });

  afterAll(async () => {
    client.close();
    await real?.stop();
  });

  it.each([
    { what: "random sequences of requests", steps: sequence, share: 1 },
    { what: "searches for candidates in random worlds", steps: searches, share: 0.5 },
    { what: "searches of several groups for one class in trees", steps: treeSearches, share: 0.5 },
  ])("answers $what with the same status, headers and body", async ({ steps: arbitrary, share }) => {
    if (real === undefined) {
      throw new Error(HOW_TO_INSTALL);
    }
    const { url, reset } = real;
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
