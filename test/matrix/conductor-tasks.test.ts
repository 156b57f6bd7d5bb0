import { expect, test } from "vitest";
import { CONDUCTOR_FAULTS, CONDUCTOR_FLOWS, runConductorCases } from "../fixtures/fault-matrix/conductor-cases.js";

for (const flow of CONDUCTOR_FLOWS) {
  for (const fault of CONDUCTOR_FAULTS) {
    test(`9.4 ${flow.name}: ${fault.name} each request of the conductor`, async () => {
      const { struck, breaches } = await runConductorCases(flow, fault);
      expect(breaches).toEqual({});
      expect(struck).toBeGreaterThan(0);
    });
  }
}
