import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { HOW_TO_INSTALL, isInstalled, type RealPlacement, startRealPlacement } from "./real-placement.js";

/**
 * Starts the real Placement for the tests of the calling `describe`, and empties it before each of them. If it is not
 * installed, the tests are skipped; in CI they fail.
 */
export function placementOfTests(): () => RealPlacement {
  let real: RealPlacement | undefined;
  beforeAll(async () => {
    if (isInstalled()) {
      real = await startRealPlacement();
    }
  }, 60_000);
  afterAll(() => real?.stop());
  beforeEach(async (context) => {
    if (real === undefined) {
      if (process.env.CI === "true") {
        expect.fail(HOW_TO_INSTALL);
      }
      context.skip(HOW_TO_INSTALL);
      return;
    }
    await real.reset();
  });
  return () => {
    if (real === undefined) {
      throw new Error(HOW_TO_INSTALL);
    }
    return real;
  };
}
