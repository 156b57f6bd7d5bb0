import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const execute = promisify(execFile);
const bin = (name: string): string => join(ROOT, "node_modules/.bin", name);

describe("the packed package", () => {
  let folder: string;
  let tarball: string;
  let files: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "package-"));
    const { stdout } = await execute("npm", ["pack", ROOT, "--json", "--ignore-scripts"], { cwd: folder });
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: readonly { path: string }[] }];
    tarball = join(folder, packed.filename);
    files = packed.files.map(({ path }) => path);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("holds the two programs, the contract and its tests, samples and docs, and nothing else", () => {
    const rooms = new Set(files.map((path) => path.replace(/^(dist\/(?:bin|src)\/[^/]+|[^/]+).*$/, "$1")));
    const bundled = [...rooms].filter((room) => room.startsWith("dist/bin/")).sort();
    expect(bundled).toEqual(["dist/bin/compute-agent.js", "dist/bin/compute-cluster.js", "dist/bin/lib"]);
    expect([...rooms].filter((room) => !room.startsWith("dist/bin/")).sort()).toEqual([
      "LICENSE",
      "README.md",
      "config",
      "dist/src/config",
      "dist/src/records",
      "dist/src/runtime",
      "dist/src/simulation",
      "dist/src/testing",
      "dist/src/virt",
      "docs",
      "package.json",
    ]);
    expect(files.filter((path) => /\.tsbuildinfo$|\.map$|(^|\/)test\//.test(path))).toEqual([]);
  });

  test("publint finds nothing to complain of", async () => {
    const { stdout } = await execute(bin("publint"), ["run", tarball, "--strict"]);
    expect(stdout).toMatch(/All good/);
  });

  test("attw resolves the types of each entry, from modules and with bundlers", async () => {
    const { stdout } = await execute(bin("attw"), [tarball, "--profile", "esm-only", "--format", "ascii"]);
    // It ends with an error for any problem of these ways of importing.
    expect(stdout.match(/(node16 \(from ESM\)|bundler): 🟢/g)).toHaveLength(6);
  });
});
