import { describe, test } from "vitest";
import { property } from "../../fixtures/property.js";
import { FAULTS, HEALTHY } from "../../unit/audit/planted-world.js";
import { holds, planting } from "../../unit/audit/property.js";

describe("on planted worlds the audit reports each fault and nothing else, apply removes them, undo brings them back", () => {
  test.each(Object.keys(FAULTS))("%s", (name) => holds({ faults: [name], healthy: [] }));

  test("none", () => holds({ faults: [], healthy: Object.keys(HEALTHY) }));

  test("all at once", () => holds({ faults: Object.keys(FAULTS), healthy: Object.keys(HEALTHY) }));

  property([planting], { numRuns: 12 })("any", ({ faults, healthy }) => holds({ faults, healthy }));
});
