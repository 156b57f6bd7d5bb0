import { describe, expect, test } from "vitest";
import { driver } from "../../../drivers/fake-libvirt/index.js";
import { checkCase, refuseUnknownWaivers } from "../../../src/testing/check-driver.js";
import { CONTRACT_CASES } from "../../../src/testing/index.js";
import { brokenBy, type Flaws } from "./broken/flaw.js";
import { GUEST_FLAWS, POWER_FLAWS } from "./broken/guests.js";
import { HOST_FLAWS, TREE_FLAWS } from "./broken/hosts.js";
import { MOVE_FLAWS } from "./broken/moves.js";
import { FAKE_LIBVIRT } from "./fake-libvirt.js";

const FLAWS: Flaws = { ...HOST_FLAWS, ...GUEST_FLAWS, ...POWER_FLAWS, ...MOVE_FLAWS, ...TREE_FLAWS };

describe("a driver with one flaw is caught by the rule that it breaks", () => {
  test("there is a broken driver for each rule", () => {
    expect(Object.keys(FLAWS).sort()).toEqual(CONTRACT_CASES.map(({ code }) => code).sort());
  });

  for (const each of CONTRACT_CASES) {
    test(`${each.code}: ${each.rule}`, async () => {
      const flaw = FLAWS[each.code] ?? (() => ({}));
      const result = await checkCase(brokenBy(flaw), each, FAKE_LIBVIRT);
      expect(result.verdict, result.message).toBe("failed");
      expect(result.message).toMatch(/must|sabotage|misbehaved|defect/);
    });
  }

  test("a waiver is reported with its reason, and one that names no rule is refused", async () => {
    const [first] = CONTRACT_CASES;
    if (!first) {
      throw new Error("there are no rules");
    }
    const options = { ...FAKE_LIBVIRT, waive: { [first.code]: "its nodes come and go" } };
    expect(await checkCase(driver, first, options)).toMatchObject({
      verdict: "waived",
      message: "its nodes come and go",
    });
    expect(() => refuseUnknownWaivers({ waive: { "no-such-rule": "x" } })).toThrow(
      /no-such-rule, which is no rule; there are/,
    );
  });
});
