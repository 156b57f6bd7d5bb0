import { expect, test } from "vitest";
import { CONDUCTOR_FAULTS, CONDUCTOR_FLOWS, runConductorCases } from "../fixtures/fault-matrix/conductor-cases.js";

for (const flow of CONDUCTOR_FLOWS) {
  const faults = CONDUCTOR_FAULTS.filter(({ writes = false }) => !(writes && flow.conductorOnlyReads));
  for (const fault of faults) {
    test(`9.4 ${flow.name}: ${fault.name} each request of the conductor`, async () => {
      const { struck, breaches } = await runConductorCases(flow, fault);
      expect(breaches).toEqual({});
      expect(struck).toBeGreaterThan(0);
    });
  }
}
