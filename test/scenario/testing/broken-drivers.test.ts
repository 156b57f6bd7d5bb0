import { describe, expect, test } from "vitest";
import { check, driver } from "../../../drivers/fake-libvirt/index.js";
import { assertKnownWaivers, checkCase } from "../../../src/testing/check-driver.js";
import { type CanaryPlace, CONTRACT_CASES, type DriverCheckOptions } from "../../../src/testing/index.js";
import { DATA_FLAWS } from "../../unit/testing/broken/data.js";
import { brokenBy, type Flaws } from "../../unit/testing/broken/flaw.js";
import { GUEST_FLAWS, POWER_FLAWS } from "../../unit/testing/broken/guests.js";
import { HOST_FLAWS, TREE_FLAWS } from "../../unit/testing/broken/hosts.js";
import { MOVE_FLAWS } from "../../unit/testing/broken/moves.js";
import { VOLUME_FLAWS } from "../../unit/testing/broken/volumes.js";
import { FILE_DRIVER, fileDriver } from "../../unit/testing/file-driver.js";

const FLAWS: Flaws = {
  ...HOST_FLAWS,
  ...GUEST_FLAWS,
  ...POWER_FLAWS,
  ...MOVE_FLAWS,
  ...TREE_FLAWS,
  ...DATA_FLAWS,
  ...VOLUME_FLAWS,
};

describe("a driver with one flaw is detected by the rule that it violates", () => {
  test("there is a broken driver for each rule", () => {
    expect(Object.keys(FLAWS).sort()).toEqual(CONTRACT_CASES.map(({ code }) => code).sort());
  });

  for (const each of CONTRACT_CASES) {
    test(`${each.code}: ${each.rule}`, async () => {
      const flaw = FLAWS[each.code] ?? (() => ({}));
      // Guests of fake-libvirt cannot store data.
      const [healthy, options] = each.code in DATA_FLAWS ? [fileDriver, FILE_DRIVER] : [driver, check];
      const result = await checkCase(brokenBy(flaw, healthy), each, options);
      expect(result.outcome, result.message).toBe("failed");
      expect(result.message).toMatch(/must|sabotage|misbehaved|defect/);
    });
  }

  test("8.12 without a canary the rules about data report that nothing was checked", async () => {
    const { canary: disk, ...without } = FILE_DRIVER;
    const messageOf = async (code: string, options: DriverCheckOptions) => {
      const rule = CONTRACT_CASES.find((each) => each.code === code);
      return rule && (await checkCase(fileDriver, rule, options)).message;
    };
    expect(await messageOf("disk-suspend", without)).toBe(
      "option canary is not set: the preservation of disk data was not checked",
    );
    const { memory: _, ...diskOnly } = disk ?? { write: () => {}, read: () => undefined };
    expect(await messageOf("memory-suspend", { ...without, canary: diskOnly })).toMatch(/canary\.memory is not set/);
  });

  test("a canary that cannot be read, or that reads data before they were written, fails with its own error", async () => {
    const rule = CONTRACT_CASES.find(({ code }) => code === "disk-stop");
    const found = async (read: CanaryPlace["read"]) =>
      rule && (await checkCase(fileDriver, rule, { ...FILE_DRIVER, canary: { write: () => {}, read } })).message;
    expect(await found(() => undefined)).toMatch(/CanaryUnfit: canary\.read returned nothing from the disk/);
    expect(await found(({ instance }) => `canary ${instance.uuid.slice(0, 8)}`)).toMatch(
      /returned the disk's test data before they were written/,
    );
  });

  test("a waiver is reported with its reason, and a waiver of an unknown rule is rejected", async () => {
    const [first] = CONTRACT_CASES;
    if (!first) {
      throw new Error("there are no rules");
    }
    const options = { ...check, waive: { [first.code]: "its nodes come and go" } };
    expect(await checkCase(driver, first, options)).toMatchObject({
      outcome: "waived",
      message: "its nodes come and go",
    });
    expect(() => assertKnownWaivers({ waive: { "no-such-rule": "x" } })).toThrow(
      /unknown rules: no-such-rule; known rules are/,
    );
  });
});
