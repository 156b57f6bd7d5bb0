import { test } from "vitest";
import { RETURN_FAULTS } from "../unit/agent/support/returning-faults.js";

/** Covers some steps of each fault, with a different first step for each; `npm run test:matrix` covers all. */
RETURN_FAULTS.forEach(({ name, few, run }, index) => {
  const each = few ? 5 : 13;
  test(`9.4 a host returns from an evacuation: ${name}`, () => run({ first: index % each, each }));
});
