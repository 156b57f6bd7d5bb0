import { test } from "vitest";
import { RETURN_FAULTS } from "../unit/agent/support/returning-faults.js";

for (const { name, run } of RETURN_FAULTS) {
  test(`9.4 a host returns from an evacuation, all its steps: ${name}`, () => run());
}
