import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareSequence } from "./compare.js";
import { RealClient } from "./real-client.js";
import { HOW_TO_INSTALL, isInstalled, type RealPlacement, startRealPlacement } from "./real-placement.js";
import { sequence } from "./sequences.js";

const RUNS = Number(process.env.PLACEMENT_DIFFERENTIAL_RUNS ?? 150);

describe("embedded Placement beside Debian's real one", () => {
  let real: RealPlacement | undefined;
  const client = new RealClient();

  beforeAll(async () => {
    if (isInstalled()) real = await startRealPlacement();
  }, 60_000);

  afterAll(async () => {
    client.close();
    await real?.stop();
  });

  it("answers random sequences of requests with the same status, headers and body", async (context) => {
    if (real === undefined) {
      if (process.env.CI === "true") expect.fail(HOW_TO_INSTALL);
      context.skip(HOW_TO_INSTALL);
      return;
    }
    const { url, reset } = real;
    const seed = Number(process.env.PLACEMENT_DIFFERENTIAL_SEED ?? Date.now() % 1_000_000_000);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(sequence, async (steps) => {
        await reset();
        compared += await compareSequence(steps, client, url);
      }),
      { numRuns: RUNS, seed, endOnFailure: false, interruptAfterTimeLimit: 240_000, markInterruptAsFailure: false },
    );
    expect(compared).toBeGreaterThan(RUNS);
  });
});
