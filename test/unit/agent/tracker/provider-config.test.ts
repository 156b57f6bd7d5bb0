import { describe, expect, test } from "vitest";
import { parseProviderConfig } from "../../../../src/agent/tracker/parse-provider-config.js";
import { loadProviderConfigs } from "../../../../src/agent/tracker/provider-config.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";

const UUID = "11111111-2222-4333-8444-555555555555";
const file = (providers: string, version = "'1.0'") => `meta:\n  schema_version: ${version}\nproviders:\n${providers}`;
const entry = (rest: string, id = "name: p1") => `  - identification:\n      ${id}\n${rest}`;
const trait = "    traits:\n      additional: [CUSTOM_A]\n";
function inventory(values: string, name = "CUSTOM_RC") {
  return `    inventories:\n      additional:\n        - ${name}: {${values}}\n`;
}

const setUp = () => new VirtualWorld().spawn();
const parse = (text: string, runtime = setUp()) => parseProviderConfig("/etc/p.yaml", text, runtime.logger);

describe("4.9 provider.yaml, what is read", () => {
  test("uuid, $COMPUTE_NODE or name; inventory and traits", () => {
    const full = "total: 10, reserved: 1, min_unit: 1, max_unit: 5, step_size: 1, allocation_ratio: 1.5";
    const text = file(
      entry(inventory(full) + trait) +
        entry(trait, `uuid: ${UUID.toUpperCase()}`) +
        entry(trait, "uuid: $COMPUTE_NODE"),
    );
    expect(parse(text)).toEqual([
      {
        file: "/etc/p.yaml",
        identification: { name: "p1" },
        inventories: {
          CUSTOM_RC: { total: 10, reserved: 1, minUnit: 1, maxUnit: 5, stepSize: 1, allocationRatio: 1.5 },
        },
        traits: ["CUSTOM_A"],
      },
      { file: "/etc/p.yaml", identification: { uuid: UUID }, inventories: {}, traits: ["CUSTOM_A"] },
      { file: "/etc/p.yaml", identification: { uuid: "$COMPUTE_NODE" }, inventories: {}, traits: ["CUSTOM_A"] },
    ]);
  });

  test.each([
    ["a ratio under 1", inventory("total: 1, allocation_ratio: 0.5"), { allocationRatio: 0.5 }],
    ["the largest number", inventory("total: 2147483647"), { total: 2_147_483_647 }],
  ])("%s", (_, text, record) => {
    expect(parse(file(entry(text)))[0]?.inventories.CUSTOM_RC).toMatchObject(record);
  });

  test("a name of 255 characters", () => {
    const name = `CUSTOM_${"A".repeat(248)}`;
    expect(parse(file(entry(`    traits:\n      additional: [${name}]\n`)))[0]?.traits).toEqual([name]);
  });

  test.each(["", "providers:\n"])("no providers (%j) are none", (providers) => {
    expect(parse(`meta:\n  schema_version: '1.0'\n${providers}`)).toEqual([]);
  });

  test("an unknown minor version warns", () => {
    const runtime = setUp();
    expect(parse(file(entry(trait), "'1.7'"), runtime)).toHaveLength(1);
    expect(runtime.logs).toMatchObject([{ level: "warn", fields: { version: "1.7" } }]);
  });

  test("an entry with neither inventories nor traits is warned of and dropped", () => {
    const runtime = setUp();
    expect(parse(file(entry("")), runtime)).toEqual([]);
    expect(runtime.logs).toMatchObject([{ level: "warn", fields: { file: "/etc/p.yaml" } }]);
    expect(parse(file(entry(inventory("total: 1"))))).toMatchObject([{ traits: [] }]);
  });
});

describe("4.9 provider.yaml, what is refused: the message names file and rule", () => {
  test.each([
    ["providers: [", "no valid YAML"],
    ["- a", "the file must be a mapping"],
    [file(entry(trait), "1.0"), "quoted version"],
    [file(entry(trait), "'2.0'"), "major version 1"],
    [file(entry(trait), "1.5"), "quoted version such as '1.0', found 1.5"],
    ["meta: {schema_version: '1.0'}\n__source_file: a.yaml", "__source_file is reserved"],
    ["meta: 7", "meta must be a mapping, found 7"],
    ["providers: []", "meta must be a mapping, found nothing"],
    ["meta: {schema_version: '1.0'}\nproviders: [a]", 'providers[0] must be a mapping, found "a"'],
    ["meta: {schema_version: '1.0'}\nproviders: [null]", "providers[0] must be a mapping, found null"],
    [file(entry(trait, "name: a\n      other: b")), "exactly one of uuid and name"],
    [file(entry(inventory("total: 1.5"))), "total must be a whole number"],
    [file(entry(`    traits:\n      additional: [CUSTOM_${"A".repeat(249)}]\n`)), "at most 255 characters"],
    [file(entry(inventory("total: 1", "VCPU"))), "resource class must start with CUSTOM_"],
    [file(entry("    traits:\n      additional: [A]\n")), "trait must start with CUSTOM_"],
    ["meta: {schema_version: '1.0'}\nproviders: {}", "providers must be a list"],
    [file(entry(trait, "name: a\n      uuid: $COMPUTE_NODE")), "exactly one of uuid and name"],
    [file(entry(trait, "other: a")), "exactly one of uuid and name"],
    [file(entry(trait, "uuid: nonsense")), "must be a uuid"],
    [file(entry(trait, "name: ''")), "or a name"],
    [file(entry(inventory("total: 1", "VCPU"))), "must start with CUSTOM_"],
    [file(entry(inventory("reserved: 1"))), "must have a total"],
    [file(entry(inventory("total: 0"))), "CUSTOM_RC.total must be a whole number from 1"],
    [file(entry(inventory("total: '3'"))), 'found "3"'],
    [file(entry(inventory("total: 1, reserved: -1"))), "reserved must be a whole number from 0"],
    [file(entry(inventory("total: 1, allocation_ratio: 0"))), "allocation_ratio must be a number over 0"],
    [file(entry(inventory("total: 1, colour: 3"))), "colour is unknown; allowed are total"],
    [file(entry(inventory("total: 3000000000"))), "to 2147483647"],
    [file(entry("    traits:\n      additional: [HW_CPU_X86_AVX]\n")), "must start with CUSTOM_"],
    [file(entry("    traits:\n      additional: [7]\n")), "found 7"],
  ])("%s", (text, rule) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ name: "ProviderConfigException" }));
    expect(() => parse(text)).toThrow(rule);
    expect(() => parse(text)).toThrow("/etc/p.yaml: ");
  });
});

describe("4.9 provider.yaml, the folder", () => {
  test("every *.yaml, sorted by name; an absent folder is empty", async () => {
    const runtime = setUp();
    expect(await loadProviderConfigs("/etc/p", runtime)).toEqual([]);
    await runtime.files.write("/etc/p/b.yaml", file(entry(trait, "name: b")));
    await runtime.files.write("/etc/p/a.yaml", file(entry(trait, "name: a")));
    await runtime.files.write("/etc/p/c.yml", "not read");
    const names = (await loadProviderConfigs("/etc/p/", runtime)).map(({ identification }) => identification);
    expect(names).toEqual([{ name: "a" }, { name: "b" }]);
  });

  test("the same provider twice is fatal, and both files are named", async () => {
    const runtime = setUp();
    await runtime.files.write("/etc/p/a.yaml", file(entry(trait, `uuid: ${UUID}`)));
    await runtime.files.write("/etc/p/b.yaml", file(entry(trait, `uuid: ${UUID}`)));
    await expect(loadProviderConfigs("/etc/p", runtime)).rejects.toThrow(
      `/etc/p/b.yaml: provider ${UUID} is described twice (first in /etc/p/a.yaml)`,
    );
  });
});
