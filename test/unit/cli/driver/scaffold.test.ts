import { describe, expect, test } from "vitest";
import { dependencyOn, scaffoldOf } from "../../../../src/cli/driver/scaffold/scaffold.js";

function manifestOf(name: string) {
  const text = scaffoldOf({ name, version: "1.2.3", dependency: "^1.2.3" }).get("package.json") ?? "";
  return JSON.parse(text) as Readonly<Record<string, Readonly<Record<string, string>>>>;
}

describe("scaffoldOf", () => {
  test("names the package, its files, its class and its section after the driver", () => {
    const files = scaffoldOf({ name: "micro-vm2", version: "1.2.3", dependency: "^1.2.3" });
    expect([...files.keys()]).toEqual([
      "package.json",
      "tsconfig.json",
      ".gitignore",
      "src/index.ts",
      "src/micro-vm2.ts",
      "src/guests.ts",
      "test/contract.test.ts",
      "nova.conf.sample",
      "README.md",
    ]);
    expect(files.get("src/micro-vm2.ts")).toContain("export class MicroVm2 implements VirtDriver");
    expect(files.get("src/index.ts")).toContain('import { MicroVm2 } from "./micro-vm2.js"');
    expect(files.get("src/index.ts")).toContain('section: "micro_vm2"');
    expect(files.get("nova.conf.sample")).toMatch(/^compute_driver = micro-vm2\n\n\[micro_vm2\]/m);
    expect([...files.values()].filter((text) => !text.endsWith("\n"))).toEqual([]);
  });

  test("the sample has each option that the schema declares, with its default", () => {
    const files = scaffoldOf({ name: "mine", version: "1.2.3", dependency: "^1.2.3" });
    const declared = [...(files.get("src/index.ts") ?? "").matchAll(/^ {4}(\w+): \{ type: .*? default: (\w+),/gm)];
    expect(declared).toHaveLength(3);
    for (const [, name, value] of declared) {
      expect(files.get("nova.conf.sample")).toContain(`#${name} = ${value}`);
    }
  });

  test("is built with its sample before it is packed, and has the types of Node.js", () => {
    const { scripts, devDependencies } = manifestOf("mine");
    expect(scripts?.prepack).toBe("npm run build");
    expect(scripts?.build).toBe("tsc && npm run sample");
    expect(scripts?.sample).toBe("compute-agent driver sample . --out nova.conf.sample");
    expect(devDependencies).toHaveProperty("@types/node");
  });

  test("has this version of the contract's package as a peer dependency", () => {
    const { peerDependencies, devDependencies } = manifestOf("mine");
    expect(peerDependencies).toEqual({ "compute-agent": "^1.2.3" });
    expect(devDependencies?.["compute-agent"]).toBe("^1.2.3");
  });
});

describe("dependencyOn", () => {
  const own = "/project/node_modules/compute-agent";
  const lockWith = (resolved?: unknown) =>
    JSON.stringify({ packages: { "node_modules/compute-agent": { version: "1.2.3", resolved } } });
  const on = (lock: string) => dependencyOn({ own, folder: "/project/drivers/mine", version: "1.2.3", lock });

  test("a checkout is linked", () => {
    expect(dependencyOn({ own: "/src/compute-agent", folder: "/src/mine", version: "1.2.3" })).toBe(
      "file:../compute-agent",
    );
  });

  test("a package from a tarball is installed from the same tarball, never linked", () => {
    expect(on(lockWith("file:../tarballs/compute-agent-1.2.3.tgz"))).toBe(
      "file:../../../tarballs/compute-agent-1.2.3.tgz",
    );
  });

  test("a package from git is installed from there", () => {
    expect(on(lockWith("git+ssh://git@example.org/compute-agent.git#abc"))).toBe(
      "git+ssh://git@example.org/compute-agent.git#abc",
    );
  });

  test.each([
    ["from a registry", lockWith("https://registry.example.org/compute-agent-1.2.3.tgz")],
    ["in a way that npm did not write down", lockWith()],
    ["by another tool, which leaves no lock", ""],
  ])("a package installed %s is required by its version", (_, lock) => {
    expect(on(lock)).toBe("^1.2.3");
  });
});
