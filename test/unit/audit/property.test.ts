import { test } from "@fast-check/vitest";
import { describe } from "vitest";
import { FAULTS, HEALTHY } from "./planted-world.js";
import { holds, planting } from "./property.js";

describe("on planted worlds the audit reports each fault and nothing else, apply removes them, undo brings them back", () => {
  test.each(Object.keys(FAULTS))("%s", (name) => holds({ faults: [name], healthy: [] }));

  test("none", () => holds({ faults: [], healthy: Object.keys(HEALTHY) }));

  test("all at once", () => holds({ faults: Object.keys(FAULTS), healthy: Object.keys(HEALTHY) }));

  test.prop([planting], { numRuns: 12 })("any", ({ faults, healthy }) => holds({ faults, healthy }));
});
