import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { driver as fakeLibvirt } from "../../../drivers/fake-libvirt/index.js";
import { driver as ironic } from "../../../drivers/ironic/index.js";
import { driver as qemu } from "../../../drivers/qemu/index.js";
import { parseProviderConfig } from "../../../src/agent/tracker/parse-provider-config.js";
import { optionsOf } from "../../../src/cli/agent/built-in-drivers.js";
import { type CompiledConfig, compileConfig } from "../../../src/config/compile-config.js";
import { parseIni } from "../../../src/config/ini-file.js";
import { NOVA_OPTIONS } from "../../../src/config/nova-config.js";
import { Derived, type SectionTable } from "../../../src/config/option.js";
import { QUIRKS, type Quirk, RELEASES } from "../../../src/config/quirks.js";
import { PLACEMENT_SERVICE_OPTIONS } from "../../../src/config/sections/placement-service-options.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

/** The options of an agent, with each of the built-in drivers. */
const OPTIONS: SectionTable = { ...NOVA_OPTIONS, ...optionsOf(fakeLibvirt), ...optionsOf(ironic), ...optionsOf(qemu) };

const sample = (name: string) => readFile(new URL(`../../../config/${name}`, import.meta.url), "utf8");

function compileText(table: SectionTable, text: string): CompiledConfig<SectionTable> {
  return compileConfig(
    table,
    { files: [parseIni(text, "sample")], environment: {}, commandLine: [] },
    { stateDir: "/state", hostname: "machine" },
  );
}

/** Returns the commented assignments `#name = value`, which document defaults. */
function documented(text: string) {
  return parseIni(text.replace(/^#(?=\w+ =)/gm, ""), "sample").assignments.filter(({ line }) =>
    text.split("\n")[line - 1]?.startsWith("#"),
  );
}

const samples: [name: string, table: SectionTable, changed: Readonly<Record<string, string>>][] = [
  ["compute-agent.conf", OPTIONS, {}],
  ["compute-agent-ironic.conf", OPTIONS, { compute_driver: "ironic", endpoint_override: "http://127.0.0.1:6385" }],
  ["placement.conf", PLACEMENT_SERVICE_OPTIONS, {}],
];

describe.each(samples)("config/%s", (name, table, changed) => {
  it("loads without a warning and sets only the intended options", async () => {
    const compiled = compileText(table, await sample(name));
    expect(compiled.warnings).toEqual([]);
    const set = compiled.values.filter(({ origin }) => origin !== "default");
    expect(Object.fromEntries(set.map(({ option, value }) => [option, value]))).toEqual(changed);
  });

  it("documents options that exist, with their defaults", async () => {
    const found = documented(await sample(name));
    expect(found.length).toBeGreaterThan(0);
    for (const { section, option, value } of found) {
      const definition = table[section]?.[option];
      const where = `[${section}] ${option}`;
      expect(definition, where).toBeDefined();
      if (definition?.default instanceof Derived) {
        expect(value, where).toBe(definition.default.documented);
      } else {
        expect(definition?.type.parse([value]), where).toEqual(definition?.default);
      }
    }
  });
});

describe("the samples in total", () => {
  it("document every option", async () => {
    const missing = async (files: readonly string[], table: SectionTable) => {
      const contents = await Promise.all(files.map(sample));
      const documentedOptions = contents.flatMap((text) => [
        ...documented(text),
        ...parseIni(text, "sample").assignments,
      ]);
      const names = new Set(documentedOptions.map(({ section, option }) => `[${section}] ${option}`));
      return Object.entries(table)
        .flatMap(([section, options]) => Object.keys(options).map((option) => `[${section}] ${option}`))
        .filter((option) => !names.has(option));
    };
    expect(await missing(["compute-agent.conf", "compute-agent-ironic.conf"], OPTIONS)).toEqual([]);
    expect(await missing(["placement.conf"], PLACEMENT_SERVICE_OPTIONS)).toEqual([]);
  });

  it("list every quirk with its source", async () => {
    const text = await sample("compute-agent.conf");
    const table = text
      .slice(text.indexOf("# The quirks:"), text.indexOf("#upstream_quirks"))
      .replaceAll(/\n#\s+/g, " ");
    for (const [name, quirk] of Object.entries<Quirk>(QUIRKS)) {
      expect(text).toContain(`#   ${name} (${quirk.source}): `);
      const quirkText = table.slice(table.indexOf(` ${name} (`)).split(/ [a-z-]+ \((?:bug )?\d/)[1];
      if (quirk.fixed !== undefined) {
        expect(quirkText, name).toContain(`before Nova ${quirk.fixed}.0`);
      }
      if (quirk.since !== undefined) {
        expect(quirkText, name).toContain(`Nova ${quirk.since}.0`);
      }
    }
    for (const release of Object.keys(RELEASES)) {
      expect(table).toContain(release);
    }
  });
});

describe("config/provider_config.yaml", () => {
  it("4.9 is accepted by the agent", async () => {
    const { logger, logs } = createVirtualRuntime();
    const configs = parseProviderConfig("provider_config.yaml", await sample("provider_config.yaml"), logger);
    expect(configs.map(({ identification, traits }) => [identification, traits])).toEqual([
      [{ uuid: "$COMPUTE_NODE" }, ["CUSTOM_RACK_7", "CUSTOM_FAST_DISK"]],
      [{ name: "devstack1_accelerator" }, ["CUSTOM_PROTOTYPE"]],
    ]);
    expect(configs[0]?.inventories.CUSTOM_LICENSE_SEAT).toMatchObject({ total: 20, reserved: 2, maxUnit: 4 });
    expect(logs).toEqual([]);
  });
});
