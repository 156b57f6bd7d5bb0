import fc from "fast-check";
import { afterAll, describe, it } from "vitest";
import { quietLogger } from "../../src/cli/ui/logging.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import type { SomePlacement } from "../unit/audit/audit-world.js";
import { FAULTS, HEALTHY } from "../unit/audit/planted-world.js";
import { holds, planting } from "../unit/audit/property.js";
import { placementOfTests } from "./placement/placement-of-tests.js";

describe("the audit and Debian's real Placement", () => {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const real = placementOfTests();

  /** Sends the audit's requests to the real Placement. */
  const placement: SomePlacement = {
    send: (request, path) => runtime.http.request({ ...request, url: `${real().url}${path}` }),
  };

  afterAll(async () => {
    await runtime.http.close();
  });

  it("reports and fixes exactly the planted faults, and restores them", async () => {
    await holds({ faults: Object.keys(FAULTS), healthy: Object.keys(HEALTHY) }, placement);
  });

  it("does so in generated clouds", async () => {
    const property = fc.asyncProperty(planting, async (planted) => {
      await real().reset();
      await holds(planted, placement);
    });
    await fc.assert(property, { numRuns: 4 });
  });
});
