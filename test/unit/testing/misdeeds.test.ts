import { describe, expect, test } from "vitest";
import { checkCase } from "../../../src/testing/check-driver.js";
import { CONTRACT_CASES } from "../../../src/testing/index.js";
import { doing } from "../../fixtures/misdeeds/doing.js";
import { AT_START, AT_STOP } from "../../fixtures/misdeeds/misdeeds.js";
import { FILE_DRIVER, fileDriver } from "./file-driver.js";

describe("8.10 driver check reports the method and the rule that a driver violates", () => {
  test.each([...AT_START, ...AT_STOP].map((each) => [each.what, each] as const))(
    "%s",
    async (_, { flaw, method, message: expectedMessage, rule }) => {
      const found = CONTRACT_CASES.find(({ code }) => code === rule);
      if (found === undefined) {
        throw new Error(`there is no rule ${rule}`);
      }
      const { outcome: result, message } = await checkCase(doing(flaw, fileDriver), found, FILE_DRIVER);
      expect([result, message]).toEqual(["failed", expect.stringMatching(expectedMessage)]);
      expect(message).toContain(method);
    },
  );
});
