import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { quietLogger } from "../../src/cli/ui/quiet-logger.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { SomePlacement } from "../unit/audit/audit-world.js";
import { FAULTS, HEALTHY } from "../unit/audit/planted-world.js";
import { holds, planting } from "../unit/audit/property.js";
import { HOW_TO_INSTALL, isInstalled, type RealPlacement, startRealPlacement } from "./placement/real-placement.js";

describe("the audit and Debian's real Placement", () => {
  const runtime = createNodeRuntime({ logger: quietLogger });
  let real: RealPlacement | undefined;

  /** The audit's requests, sent to it. */
  const placement: SomePlacement = {
    send: (request, path) => runtime.http.request({ ...request, url: `${real?.url}${path}` }),
  };

  beforeAll(async () => {
    if (isInstalled()) {
      real = await startRealPlacement();
    }
  }, 60_000);

  afterAll(async () => {
    await runtime.http.close();
    await real?.stop();
  });

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

  it("reports every planted fault and nothing else, mends them, and brings them back", async () => {
    await holds({ faults: Object.keys(FAULTS), healthy: Object.keys(HEALTHY) }, placement);
  });

  it("does so in any world", async () => {
    const property = fc.asyncProperty(planting, async (planted) => {
      await real?.reset();
      await holds(planted, placement);
    });
    await fc.assert(property, { numRuns: 4 });
  });
});
