import { describe, expect, test } from "vitest";
import { sampleOf } from "../../../../src/cli/driver/scaffold/scaffold.js";
import { compileConfig } from "../../../../src/config/compile-config.js";
import { parseIni } from "../../../../src/config/ini-file.js";
import type { SectionTable } from "../../../../src/config/option.js";
import { driverSections } from "../../../../src/virt/driver-sections.js";
import { compileDriverConfig, type DriverConfigSchema } from "../../../../src/virt/index.js";

const schema = {
  section: "mine",
  options: {
    slots: { type: "integer", default: 8, min: 1, max: 9, help: "Room for guests." },
    share: { type: "number", default: 0.5, min: 0, help: "Part of the disk." },
    fast: { type: "boolean", default: true, help: "Whether it is." },
    colour: { type: "text", default: "red", choices: ["red", "green", "blue"], help: "Of the host." },
    url: { type: "text", default: "mine://$host:5/$cell", help: "The hypervisor,\n   by two lines." },
    lines: { type: "text", default: "one\ntwo", help: "More than one." },
    key: { type: "text", default: "swordfish", secret: true, help: "To get in." },
    label: { type: "text", default: null, help: "Unset: none." },
    limit: { type: "integer", default: null, min: 0, help: "Unset: as many as come." },
    devices: { type: "list", default: ["sda", "sdb"], help: `Disks ${"that are given away ".repeat(10)}.` },
  },
} as const satisfies DriverConfigSchema;

const table: SectionTable = driverSections({ configSchema: schema });
const sample = sampleOf("@me/my-driver", table);

/** Compiles a file with this text. */
function compile(text: string) {
  const sources = { files: [parseIni(text, "sample")], environment: {}, commandLine: [] };
  return compileConfig(table, sources, { stateDir: "/state", hostname: "machine" });
}

describe("sampleOf", () => {
  test("names the driver, and sets none of its options", () => {
    expect(sample).toMatch(/^\[DEFAULT\]\ncompute_driver = @me\/my-driver\n\n\[mine\]\n\n# Room for guests\./);
    expect(sample.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
      "[DEFAULT]",
      "compute_driver = @me/my-driver",
      "[mine]",
    ]);
    expect(sampleOf("bare", driverSections({}))).toBe("[DEFAULT]\ncompute_driver = bare\n");
  });

  test("has each declared option, with its default as the file would have it", () => {
    const { section, values } = compile(sample.replace(/^#(?! )|^#(?= {2})/gm, "").replace(/^\[DEFAULT\]\n.*\n/, ""));
    expect(values.filter(({ origin }) => origin === "default").map(({ option }) => option)).toEqual([]);
    expect(section("mine")).toEqual({ ...compileDriverConfig(schema, {}), key: "" });
  });

  test("has description and type of each option, in lines of readable length", () => {
    expect(sample).toContain("# Room for guests. (Integer from 1 to 9.)\n#slots = 8\n");
    expect(sample).toContain("# Of the host. (One of red, green, blue.)\n#colour = red\n");
    expect(sample).toContain("# The hypervisor, by two lines.\n#url = mine://$$host:5/$$cell\n");
    expect(sample).toContain("# Unset: as many as come. (Integer of at least 0.)\n#limit =\n");
    expect(sample.split("\n").filter((line) => line.length > 100)).toEqual([]);
  });

  test("treats an option of plain JavaScript without default and description as unset", () => {
    const options = { devices: { type: "list" } } as unknown as DriverConfigSchema["options"];
    const bare = sampleOf("bare", driverSections({ configSchema: { section: "bare", options } }));
    expect(bare).toMatch(/\[bare\]\n\n# \(List separated by commas\.\)\n#devices =\n$/);
  });

  test("omits the default of a secret", () => {
    expect(sample).toContain("# To get in. (Never shown.)\n#key =\n");
    expect(sample).not.toContain("swordfish");
  });
});
