import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Program } from "../process/support/program.js";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const execute = promisify(execFile);
const bin = (name: string): string => join(ROOT, "node_modules/.bin", name);

const TRY = `
import { type Cluster, startCluster } from "compute-agent/cluster";
const cloud: Cluster = await startCluster({ hosts: 1, time: "virtual" });
await cloud.advance(60);
console.log(await cloud.hosts("devstack1").state());
await cloud.stop();
`;

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

  test("contains only the two programs, the contract and its tests, samples and docs", () => {
    const rooms = new Set(files.map((path) => path.replace(/^(dist\/(?:bin|src)\/[^/]+|[^/]+).*$/, "$1")));
    const bundled = [...rooms].filter((room) => room.startsWith("dist/bin/")).sort();
    const programs = ["dist/bin/cluster.mjs", "dist/bin/compute-agent.js", "dist/bin/compute-cluster.js"];
    expect(bundled).toEqual([...programs, "dist/bin/lib", "dist/bin/package.json"]);
    expect([...rooms].filter((room) => !room.startsWith("dist/bin/")).sort()).toEqual([
      "LICENSE",
      "README.md",
      "config",
      "dist/src/cluster",
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

  test("publint reports no problem", async () => {
    const { stdout } = await execute(bin("publint"), ["run", tarball, "--strict"]);
    expect(stdout).toMatch(/All good/);
  });

  test("attw resolves the types of each entry, from modules and with bundlers", async () => {
    const { stdout } = await execute(bin("attw"), [tarball, "--profile", "esm-only", "--format", "ascii"]);
    // attw fails for any problem with these kinds of import.
    expect(stdout.match(/(node16 \(from ESM\)|bundler): 🟢/g)).toHaveLength(8);
  });

  describe("installed into an empty folder, without development dependencies", () => {
    let project: string;
    let driver: string;
    const program = (name: "compute-agent" | "compute-cluster", ...args: readonly string[]) =>
      new Program(name, args, {}, { folder: join(project, "node_modules/compute-agent") });

    beforeAll(async () => {
      project = join(folder, "project");
      driver = join(project, "my-driver");
      await mkdir(project);
      await writeFile(join(project, "package.json"), JSON.stringify({ name: "project", private: true }));
      await execute("npm", ["install", tarball, "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund"], {
        cwd: project,
      });
      const made = program("compute-agent", "driver", "new", "my-driver", "--in", project);
      expect((await made.exited).code, made.stderr).toBe(0);
    });

    test("installs the few packages that are not in the bundle", async () => {
      const packages = await readdir(join(project, "node_modules"));
      expect(packages.filter((name) => !name.startsWith(".")).sort()).toEqual([
        "@libsql",
        "@neon-rs",
        "compute-agent",
        "detect-libc",
        "libsql",
        "typebox",
        "undici",
      ]);
    });

    test("a driver in TypeScript compiles against its types, with library checks, and conforms to the contract under vitest", async () => {
      await mkdir(join(driver, "node_modules"));
      await symlink(join(ROOT, "node_modules/@types"), join(driver, "node_modules/@types"));
      await execute(bin("tsc"), ["-p", driver, "--skipLibCheck", "false"]);
      // The test runner is a dependency of the driver's author.
      await symlink(join(ROOT, "node_modules/vitest"), join(project, "node_modules/vitest"));
      const { stdout } = await execute(bin("vitest"), ["run", "--root", driver, "--reporter=json"], { cwd: driver });
      const report = JSON.parse(stdout) as { readonly numFailedTests: number; readonly numPassedTests: number };
      expect(report).toMatchObject({ success: true, numFailedTests: 0 });
      expect(report.numPassedTests).toBeGreaterThan(40);
    });

    test("built-in drivers need no further packages", async () => {
      for (const driver of ["fake-libvirt", "ironic"]) {
        const configRun = program("compute-agent", "--show-config", "--compute-driver", driver);
        expect((await configRun.exited).code, configRun.stderr).toBe(0);
      }
    });

    test("a cluster starts in the process of a test, with complete types", async () => {
      await writeFile(join(project, "try.mts"), TRY);
      const types = ["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types"), "--skipLibCheck", "false"];
      const tsc = [bin("tsc"), "--ignoreConfig", "--strict", "--target", "ES2023", "--module", "NodeNext", ...types];
      await execute(process.execPath, [...tsc, "try.mts"], { cwd: project });
      const { stdout } = await execute(process.execPath, ["try.mjs"], { cwd: project });
      expect(stdout).toBe("serving\n");
    });

    test("npx starts a cluster by the package's name, and one of its scenarios", async () => {
      const env = { ...process.env, XDG_STATE_HOME: join(folder, "state-home") };
      const npx = (...args: string[]) => execute("npx", ["--no-install", ...args], { cwd: project, env });
      const up = await npx(
        "compute-agent",
        "up",
        "--scenario",
        "overcommitted",
        "--name",
        "npx",
        "--port",
        "0",
        "--detach",
      );
      expect(up.stdout).toContain("An operator lowers the allocation ratio to 1.");
      const audit = npx("compute-cluster", "audit", "--nova-manage-exit-codes", "--settled-for", "0", "--name", "npx");
      await expect(audit).rejects.toMatchObject({
        code: 3,
        stdout: expect.stringContaining("overcommitted-inventory"),
      });
      expect((await npx("compute-cluster", "down", "--name", "npx")).stdout).toContain("stopped");
    });

    test("both programs run with that driver", async () => {
      const places = ["--hosts", "1", "--port", "0", "--state-dir", join(project, "state")];
      const up = program("compute-cluster", "up", "--driver", driver, ...places);
      try {
        await up.printed(/ready +http:\S+[\s\S]*Ctrl-C stops all of it/);
      } finally {
        up.signal("SIGINT");
      }
      expect((await up.exited).code, up.stderr).toBe(0);
      const checked = program("compute-agent", "driver", "check", driver);
      expect((await checked.exited).code, checked.stdout).toBe(0);
      const sample = program("compute-agent", "driver", "sample", driver);
      expect((await sample.exited).code, sample.stderr).toBe(0);
      expect(sample.stdout).toBe(await readFile(join(driver, "nova.conf.sample"), "utf8"));
    });
  });
});
