import { describe, expect, test } from "vitest";
import { driver as fakeLibvirt } from "../../../drivers/fake-libvirt/index.js";
import { optionsOf } from "../../../src/cli/agent/built-in-drivers.js";
import { compileNovaConfig } from "../../../src/config/nova-config.js";
import { driverSections } from "../../../src/virt/driver-sections.js";
import { compileDriverConfig, type DriverConfigSchema, defineDriver } from "../../../src/virt/index.js";
import { NO_SOURCES } from "../../fixtures/no-sources.js";
import { driverWith } from "./fixtures.js";

const schema = {
  section: "my_driver",
  options: {
    size_gb: { type: "integer", default: 3, min: 1, max: 9, help: "" },
    pause_time: { type: "number", default: null, min: 0, help: "" },
    is_fast: { type: "boolean", default: false, help: "" },
    colour: { type: "text", default: "red", choices: ["red", "blue"], help: "" },
    label: { type: "text", default: null, help: "" },
    devices: { type: "list", default: [], help: "" },
  },
} as const satisfies DriverConfigSchema;

describe("compileDriverConfig", () => {
  test("sets defaults for absent and null values", () => {
    expect(compileDriverConfig(schema, { label: null })).toEqual({
      sizeGb: 3,
      pauseTime: null,
      isFast: false,
      colour: "red",
      label: null,
      devices: [],
    });
  });

  test("accepts values, and strings as in nova.conf", () => {
    const rawConfig = { size_gb: "4", pauseTime: 0.5, isFast: "Yes", colour: "blue", label: "x", devices: "a, b," };
    expect(compileDriverConfig(schema, rawConfig)).toEqual({
      sizeGb: 4,
      pauseTime: 0.5,
      isFast: true,
      colour: "blue",
      label: "x",
      devices: ["a", "b"],
    });
  });

  test.each([
    [{ sizeGb: 0 }, "[my_driver] size_gb: found 0, but it must be a whole number, at least 1 and at most 9"],
    [{ sizeGb: 1.5 }, "[my_driver] size_gb: found 1.5, but it must be a whole number, at least 1 and at most 9"],
    [{ sizeGb: "" }, '[my_driver] size_gb: found "", but it must be a whole number, at least 1 and at most 9'],
    [{ pauseTime: "soon" }, '[my_driver] pause_time: found "soon", but it must be a number, at least 0'],
    [{ isFast: "maybe" }, '[my_driver] is_fast: found "maybe", but it must be true or false'],
    [{ colour: "green" }, '[my_driver] colour: found "green", but it must be one of red, blue'],
    [{ label: 3 }, "[my_driver] label: found 3, but it must be a string"],
    [{ devices: [1] }, "[my_driver] devices: found [1], but it must be a list of strings"],
  ])("rejects %o", (rawConfig, message) => {
    expect(() => compileDriverConfig(schema, rawConfig)).toThrow(message);
  });
});

describe("driverSections", () => {
  const place = { stateDir: "/state", hostname: "devstack1" };

  test("rejects an unknown option type, as a driver in plain JavaScript may have", () => {
    const schema = { section: "mine", options: { folder: { type: "string", default: "/", help: "" } } };
    const compile = () => compileDriverConfig(schema as unknown as DriverConfigSchema, { folder: "/guests" });
    expect(compile).toThrow("[mine] folder: its schema has type");
    expect(compile).toThrow("expected integer, number, boolean, text or list");
  });

  test("nova.conf's compiler knows the options of a driver", () => {
    const definition = defineDriver({
      name: "mine",
      apiVersion: "1.0",
      configSchema: schema,
      create: () => driverWith(),
    });
    const { section } = compileNovaConfig(NO_SOURCES, place, driverSections(definition));
    expect(section("my_driver")).toEqual(compileDriverConfig(schema, {}));
  });

  test("a driver without options has no section", () => {
    expect(driverSections(defineDriver({ name: "mine", apiVersion: "1.0", create: () => driverWith() }))).toEqual({});
  });

  test("the defaults of nova.conf are valid for fake-libvirt", async () => {
    const { section } = compileNovaConfig(NO_SOURCES, place, optionsOf(fakeLibvirt));
    expect(compileDriverConfig(fakeLibvirt.configSchema ?? schema, section("fake_libvirt"))).toMatchObject({
      connectionUri: "fake-libvirt:///state/hypervisors/devstack1",
      nestedDevices: true,
    });
  });
});
