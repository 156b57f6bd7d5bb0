import { describe, test } from "vitest";
import type { DriverDefinition } from "../virt/index.js";
import { CONTRACT_CASES } from "./cases/index.js";
import { assertKnownWaivers, checkCase } from "./check-driver.js";
import type { DriverCheckOptions } from "./options.js";

/** Declares one vitest test for each rule of the contract. Rules that do not apply to the driver are skipped. */
export function describeDriver(definition: DriverDefinition, options: DriverCheckOptions = {}): void {
  assertKnownWaivers(options);
  describe(`driver ${definition.name} fulfils the contract`, () => {
    for (const each of CONTRACT_CASES) {
      test(`${each.section} ${each.rule} [${each.code}]`, async (context) => {
        const { outcome, message = "" } = await checkCase(definition, each, options);
        if (outcome === "failed") {
          throw new Error(message);
        }
        if (outcome !== "passed") {
          context.skip(message);
        }
      });
    }
  });
}
