import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InvalidDriver, VIRT_API_VERSION } from "../../../src/virt/index.js";
import { loadDriver } from "../../../src/virt/load-driver.js";

function plugin(apiVersion: string, name = "mine") {
  return `export const driver = { name: "${name}", apiVersion: "${apiVersion}", create: () => ({}) };\n`;
}

const builtIns = {
  "fake-libvirt": () => import("../../../drivers/fake-libvirt/index.js"),
  broken: () => Promise.reject(new Error("no such file")),
  mistyped: () => Promise.reject(new SyntaxError("Unexpected token")),
};

describe("loadDriver", () => {
  let cwd: string;
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(cwd, path)), { recursive: true });
    await writeFile(join(cwd, path), text);
  };
  const load = async (name: string) => (await loadDriver(name, { builtIns, cwd })).driver;

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "load-driver-"));
  });
  afterEach(() => rm(cwd, { recursive: true, force: true }));

  test("a built-in driver by its name", async () => {
    expect(await load("fake-libvirt")).toMatchObject({ name: "fake-libvirt", apiVersion: VIRT_API_VERSION });
  });

  test("a relative and an absolute path", async () => {
    await put("drivers/mine.mjs", plugin("1.0"));
    expect(await load("./drivers/mine.mjs")).toMatchObject({ name: "mine" });
    expect(await load(join(cwd, "drivers/mine.mjs"))).toMatchObject({ name: "mine" });
  });

  test("the folder of a package", async () => {
    await put("mine/package.json", '{"name": "mine", "type": "module", "main": "lib.js"}');
    await put("mine/lib.js", plugin("1.0"));
    expect(await load("./mine")).toMatchObject({ apiVersion: "1.0" });
  });

  test("an installed npm package, seen from the working folder", async () => {
    await put("node_modules/virt-mine/package.json", '{"name": "virt-mine", "type": "module", "exports": "./lib.js"}');
    await put("node_modules/virt-mine/lib.js", plugin("1.0"));
    expect(await load("virt-mine")).toMatchObject({ name: "mine" });
  });

  test("a CommonJS module", async () => {
    await put(
      "mine.cjs",
      "const all = { driver: { name: 'old', apiVersion: '1.0', create() {} } }; module.exports = all;",
    );
    expect(await load("./mine.cjs")).toMatchObject({ name: "old" });
  });

  test("nothing found: the message lists the attempts and the built-in drivers", async () => {
    const error = await load("no-such-driver").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidDriver);
    expect(String(error)).toContain(`npm package no-such-driver as seen from ${cwd}: Cannot find`);
    expect(String(error)).toContain("npm package no-such-driver as seen from compute-agent: ");
    expect(String(error)).toContain("Built-in drivers: fake-libvirt, broken, mistyped");
  });

  test("a property name of every object is not a built-in driver", async () => {
    await expect(load("toString")).rejects.toThrow("compute_driver toString cannot be loaded");
  });

  test("a module that fails: the message has the error and its line", async () => {
    await put("bad.mjs", "\nthrow new Error('needs libvirt 12');");
    await expect(load("./bad.mjs")).rejects.toThrow(/path .*bad\.mjs: needs libvirt 12 \(\/.*bad\.mjs:2:\d+\)/);
    await expect(load("mistyped")).rejects.toThrow(/SyntaxError: .* \(node --check FILE shows the line\)/);
    await expect(load("broken")).rejects.toThrow("built-in driver broken: no such file");
  });

  test("a package that is not built, or lacks a module", async () => {
    await put("mine/package.json", '{"name": "mine", "type": "module", "main": "./dist/index.js"}');
    await expect(load("./mine")).rejects.toThrow("has it been built? (npm run build)");
    await put("lone.mjs", "import 'no-such-package';");
    const error = await load("./lone.mjs").catch(String);
    expect(error).toContain("Cannot find package 'no-such-package' imported from");
    expect(error).not.toContain("has it been built");
  });

  test.each([
    ["no driver", "export const x = 1;", "but found undefined"],
    ["a driver that is none", "export const driver = 3;", "but found 3"],
    ["a driver without a version", "export const driver = { name: 'a', create() {} };", 'but found {"name":"a"}'],
    [
      "a nameless driver",
      "export const driver = { name: '', apiVersion: '1.0', create() {} };",
      'but found {"name":""',
    ],
  ])("a module that exports %s", async (_, text, found) => {
    await put("odd.mjs", text);
    await expect(load("./odd.mjs")).rejects.toThrow(
      `odd.mjs: expected an export named driver, created with defineDriver({ name, apiVersion, create }), ${found}`,
    );
  });

  test.each([
    ["0.9", "install a newer version of the driver, written for contract 1.x"],
    ["2.0", "install a newer compute-agent, or a driver for contract 1.x"],
    ["latest", "apiVersion must look like 1.0"],
  ])("a driver for contract %s", async (version, advice) => {
    await put("mine.mjs", plugin(version));
    const error = await load("./mine.mjs").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidDriver);
    expect(String(error)).toContain(`driver mine was written for version ${version} of the driver contract`);
    expect(String(error)).toContain(advice);
  });
});
