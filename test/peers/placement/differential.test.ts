import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareSequence } from "./compare.js";
import { RealClient } from "./real-client.js";
import { HOW_TO_INSTALL, isInstalled, type RealPlacement, startRealPlacement } from "./real-placement.js";
import { searches, sequence } from "./sequences.js";

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

  it.each([
    { what: "random sequences of requests", steps: sequence, share: 1 },
    { what: "searches for candidates in random worlds", steps: searches, share: 0.5 },
  ])("answers $what with the same status, headers and body", async ({ steps: arbitrary, share }) => {
    if (real === undefined) {
      if (process.env.CI === "true") expect.fail(HOW_TO_INSTALL);
      process.stderr.write(`skipped: ${HOW_TO_INSTALL}\n`);
      return;
    }
    const { url, reset } = real;
    const seed = Number(process.env.PLACEMENT_DIFFERENTIAL_SEED ?? Date.now() % 1_000_000_000);
    const numRuns = Math.ceil(RUNS * share);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(arbitrary, async (steps) => {
        await reset();
        compared += await compareSequence(steps, client, url);
      }),
      { numRuns, seed, interruptAfterTimeLimit: 240_000, markInterruptAsFailure: false },
    );
    expect(compared).toBeGreaterThan(numRuns);
  });
});
