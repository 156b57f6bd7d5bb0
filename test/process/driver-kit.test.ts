import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";
import { Program } from "./support/program.js";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A command that ends by itself, with what it printed. */
async function run(name: "compute-agent" | "compute-cluster", args: readonly string[]) {
  const program = new Program(name, args);
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

interface DrillRow {
  readonly operation: string;
  readonly verdict: string;
  readonly calls: string;
}

const FIXTURE = join(ROOT, "test/fixtures/process-driver");
const TSC = join(ROOT, "node_modules/.bin/tsc");
const execute = promisify(execFile);

describe("the kit for authors of drivers", () => {
  let folder: string;
  let driver: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "driver-kit-"));
    driver = join(folder, "my-driver");
    const made = await run("compute-agent", ["driver", "new", "my-driver", "--in", folder]);
    expect(made.code, made.stderr).toBe(0);
    // What npm install would put there.
    await mkdir(join(driver, "node_modules"));
    await symlink(ROOT, join(driver, "node_modules/compute-agent"));
    await execute(TSC, ["-p", driver]);
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("driver new refuses to write over anything, and names that no package can have", async () => {
    const again = await run("compute-agent", ["driver", "new", "my-driver", "--in", folder]);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("is there already")]);
    const wrong = await run("compute-agent", ["driver", "new", "My_Driver", "--in", folder]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("expected a name in small letters")]);
  });

  test("what driver new writes keeps the contract at once; a rule that is broken is named, with exit code 1", async () => {
    const kept = await run("compute-agent", ["driver", "check", driver, "--json"]);
    expect(kept.code, kept.stdout).toBe(0);
    const report = JSON.parse(kept.stdout) as { readonly results: readonly { readonly verdict: string }[] };
    expect(report.results.filter(({ verdict }) => verdict === "passed").length).toBeGreaterThan(40);

    const copy = join(folder, "broken-driver");
    await cp(driver, copy, { recursive: true, verbatimSymlinks: true });
    const file = join(copy, "dist/my-driver.js");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace("await this.#guests.remove(uuid);", "await this.#guests.get(uuid);"));
    const broken = await run("compute-agent", ["driver", "check", copy]);
    expect(broken.code).toBe(1);
    expect(broken.stdout).toMatch(
      /FAILED {2}8\.2 +destroy-absent\n +rule: +destroy of a guest that is not there is success/,
    );
    expect(broken.stdout).toMatch(
      /found: destroy must succeed for a guest that is not there, but it threw InstanceNotFound/,
    );
  });

  test("a driver in plain JavaScript, installed from its tarball, keeps the contract with processes for guests", async () => {
    const project = join(folder, "project");
    await mkdir(project);
    await writeFile(join(project, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
    const { stdout } = await execute("npm", ["pack", FIXTURE, "--json", "--ignore-scripts"], { cwd: project });
    const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: readonly { path: string }[] }];
    expect(files.map(({ path }) => path).sort()).toEqual(["guests.js", "index.js", "package.json"]);
    const flags = ["--offline", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"];
    await execute("npm", ["install", `./${filename}`, ...flags], { cwd: project });

    const checked = await run("compute-agent", ["driver", "check", join(project, "node_modules/process-driver")]);
    expect(checked.code, checked.stdout).toBe(0);
  });

  test("it uses nothing of the package but its published types", async () => {
    const project = join(folder, "typed");
    await cp(FIXTURE, project, { recursive: true });
    await mkdir(join(project, "node_modules"));
    await symlink(ROOT, join(project, "node_modules/compute-agent"));
    await symlink(join(ROOT, "node_modules/@types"), join(project, "node_modules/@types"));
    const options =
      "--noEmit --allowJs --checkJs --strict --module nodenext --target es2023 --skipLibCheck --types node";
    await execute(TSC, [...options.split(" "), "index.js", "guests.js"], { cwd: project });
    const sources = await Promise.all(["index.js", "guests.js"].map((name) => readFile(join(project, name), "utf8")));
    expect(sources.join("\n")).not.toMatch(/^import .* from "compute-agent"/m);
  });

  describe("in a cluster", () => {
    let up: Program;
    let cloud: LocalCloud;

    beforeAll(async () => {
      const state = join(folder, "state");
      const places = ["--hosts", "2", "--port", "0", "--state-dir", state];
      up = new Program("compute-cluster", ["up", "--driver", driver, ...places]);
      const [, url = ""] = await up.printed(/ready +(http:\S+)[\s\S]*Ctrl-C stops all of it/);
      cloud = LocalCloud.over(state, url);
    });

    afterAll(async () => {
      up.signal("SIGINT");
      await up.exited;
      await cloud.dispose();
    });

    test("a drill shows what each operation made it do", async () => {
      const state = cloud.stateDir;
      const drill = await run("compute-cluster", ["drill", "--json", "--state-dir", state]);
      expect(drill.code, `${drill.stdout}${drill.stderr}`).toBe(0);
      const rows = JSON.parse(drill.stdout) as readonly DrillRow[];
      const of = (operation: string) => rows.find((row) => row.operation === operation);
      expect(of("create")).toMatchObject({ verdict: "ok", calls: "spawn" });
      expect(of("rebuild")).toMatchObject({ verdict: "ok", calls: "destroy, spawn" });
      expect(of("suspend")).toMatchObject({ verdict: "unsupported" });
      expect(of("live migrate")).toMatchObject({ verdict: "unsupported" });
      expect(of("delete")).toMatchObject({ verdict: "ok", calls: "destroy" });
      const unknown = await run("compute-cluster", ["drill", "--only", "dance", "--state-dir", state]);
      expect([unknown.code, unknown.stderr]).toEqual([
        2,
        expect.stringContaining("there is no operation dance; there are create"),
      ]);
    });

    test("--watch starts the agent again when the driver's files change, waits for a broken one to be mended, and the guests go on", async () => {
      const agent = await cloud.startAgent("watched1", { args: ["--compute-driver", driver, "--watch"] });
      const operator = new Operator(cloud);
      const id = await operator.boot("vm1", { host: "watched1" });
      await operator.serverIn(id, "ACTIVE");
      const guest = join(cloud.stateDir, "agents/watched1/driver/guests", `${id}.json`);
      const before = await readFile(guest, "utf8");
      const file = join(driver, "dist/guests.js");
      const right = await readFile(file, "utf8");
      await writeFile(file, "export const Guests = ;\n");
      await agent.printed(/SyntaxError[\s\S]*ended \(2\); it starts again when/);
      await writeFile(file, right);
      await agent.printed(/starts again when[\s\S]*has changed, the driver is loaded again[\s\S]*watched1 is serving/);
      expect(await readFile(guest, "utf8")).toBe(before);
      const stopped = await cloud.compute("POST", `/servers/${id}/action`, { "os-stop": null });
      expect(stopped.status).toBe(202);
      await operator.serverIn(id, "SHUTOFF");
      await agent.stop();
    });
  });

  test("--watch of a built-in driver is refused", async () => {
    const refused = await run("compute-agent", ["--watch", "--host", "x", "--state-dir", folder]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--watch needs a driver by its path")]);
  });
});
