import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadDriver, whyNotApi } from "../../../src/virt/load-driver.js";
import { hostOf } from "./fixtures.js";

async function reasonOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "accepted",
    (error: Error) => error.message,
  );
}

test.each<[string, string]>([
  ["suspned", "found suspned, which the agent never calls: did you mean suspend?"],
  ["puase", "did you mean pause?"],
  ["migrateDiskAndPoweroff", "did you mean migrateDiskAndPowerOff?"],
  ["spawned", "accepted"],
  ["ownHelper", "accepted"],
])("8.10 a method %s: %s", async (method, outcome) => {
  expect(await reasonOf(hostOf({ [method]: async () => {} }))).toContain(outcome);
});

test("8.10 an unknown capability is rejected with the most similar name", async () => {
  const reason = await reasonOf(hostOf({ capabilities: { supportsEvacuation: true } }));
  expect(reason).toContain("supportsEvacuation: did you mean supportsEvacuate?");
});

test.each<[string, string | null]>([
  ["1.2", null],
  ["1.0", null],
  ["1.2.7", null],
  [">=1.2 <2", null],
  [">1.1 <=1.3", null],
  ["=1.2", null],
  ["1.3", "install a newer compute-agent, or a driver for contract 1.2"],
  ["2.0", "install a newer compute-agent, or a driver for contract 1.x"],
  ["0.9", "install a newer version of the driver, written for contract 1.x"],
  [">=1.3 <2", "1.2 is outside of that range"],
  ["<1", "1.2 is outside of that range"],
  ["latest", 'apiVersion must look like 1.2, or like ">=1.0 <2"'],
])("8.10 a host of contract 1.2 and a driver for %s: %s", (apiVersion, reason) => {
  expect(whyNotApi(apiVersion, "1.2")).toBe(reason);
});

describe("a module", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "near-names-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test.each<[string, object, string]>([
    ["the name of a built-in", { name: "ironic" }, "its name ironic belongs to a built-in driver; choose another name"],
    [
      "a type that does not exist",
      { configSchema: { section: "mine", options: { slots: { type: "interger" } } } },
      'option slots has type "interger", which does not exist: did you mean integer?',
    ],
    [
      "a default of another type",
      { configSchema: { section: "mine", options: { ports: { type: "list", default: "80" } } } },
      'option ports of type list has the default "80", but it must be a list of strings',
    ],
    [
      "section DEFAULT",
      { configSchema: { section: "DEFAULT", options: {} } },
      "but found DEFAULT, which is the agent's",
    ],
    [
      "no section",
      { configSchema: { options: {} } },
      "must be the name of a section of nova.conf, but found undefined",
    ],
    ["no options", { configSchema: { section: "mine" } }, "options must be an object, but found undefined"],
  ])("8.10 with %s is rejected", async (_, changes, reason) => {
    const definition = { name: "mine", apiVersion: "1.0", ...changes };
    const path = join(folder, "mine.mjs");
    await writeFile(path, `export const driver = { ...${JSON.stringify(definition)}, create() {} };`);
    const builtIns = { ironic: async () => ({}) };
    expect(await reasonOf(loadDriver(path, { builtIns, cwd: folder }))).toContain(reason);
  });

  test("8.10 a misspelt built-in driver is rejected with the correct name", async () => {
    const builtIns = { "fake-libvirt": async () => ({}) };
    expect(await reasonOf(loadDriver("fake-libvrt", { builtIns, cwd: folder }))).toContain(
      "compute_driver fake-libvrt cannot be loaded: did you mean fake-libvirt? Tried:",
    );
  });
});
