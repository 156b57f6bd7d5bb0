import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const execute = promisify(execFile);

/** Prints, when the process ends, whether V8 accepted the code cache of each script. */
const WATCH = `
const vm = require("node:vm");
const { Script } = vm;
const said = { taken: 0, rejected: 0, without: 0 };
vm.Script = class extends Script {
  constructor(code, options) {
    super(code, options);
    said[options?.cachedData === undefined ? "without" : this.cachedDataRejected ? "rejected" : "taken"] += 1;
  }
};
process.on("exit", () => console.error(JSON.stringify(said)));
`;

describe("the programs", () => {
  let folder: string;
  let compiled: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "compiled-"));
    await cp(join(ROOT, "dist/bin"), join(folder, "dist/bin"), { recursive: true });
    for (const name of ["package.json", "README.md", "node_modules"]) {
      await symlink(join(ROOT, name), join(folder, name));
    }
    await writeFile(join(folder, "watch.cjs"), WATCH);
    const [found = ""] = await readdir(join(folder, "dist/bin/lib/compiled"));
    compiled = join(folder, "dist/bin/lib/compiled", found);
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Returns the counts of a start that loads most of the agent. */
  const readStartReport = async () => {
    const args = ["--require", join(folder, "watch.cjs"), join(folder, "dist/bin/compute-agent.js"), "--show-config"];
    const { stdout, stderr } = await execute(process.execPath, args);
    expect(stdout).toContain("fake_libvirt");
    return JSON.parse(stderr) as Record<"taken" | "rejected" | "without", number>;
  };

  it("start with the code cache of the build", async () => {
    const { taken, rejected } = await readStartReport();
    expect(taken).toBeGreaterThan(10);
    expect(rejected).toBe(0);
  });

  it("have cached the code for a real Nova, although the build has none", async () => {
    const lib = join(folder, "dist/bin/lib");
    const files = (await readdir(lib)).filter((name) => name.endsWith(".js"));
    const contents = await Promise.all(
      files.map(async (name) => [name, await readFile(join(lib, name), "latin1")] as const),
    );
    // The string is in a function that a start does not call.
    const words = "agents do not send ";
    const [name = ""] = contents.find(([, text]) => text.includes(words)) ?? [];
    expect((await readFile(join(compiled, `${name}.bin`))).includes(words)).toBe(true);
  });

  it("do not contain the path of the build folder", async () => {
    const names = await readdir(compiled);
    const parts = await Promise.all(names.map(async (name) => [name, await readFile(join(compiled, name))] as const));
    expect(parts.filter(([, part]) => part.includes(join(ROOT, "dist"))).map(([name]) => name)).toEqual([]);
  });

  it("start without a code cache, as on another release of Node", async () => {
    await rm(compiled, { recursive: true });
    expect(await readStartReport()).toMatchObject({ taken: 0, rejected: 0 });
  });

  it("start although V8 rejects the code cache, as with other V8 options", async () => {
    await Promise.all((await readdir(compiled)).map((name) => writeFile(join(compiled, name), "nonsense")));
    expect(await readStartReport()).toMatchObject({ taken: 0 });
  });
});
