import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { compile, linkPackage, newDriver, run } from "../process/support/new-driver.js";
import { Operator } from "../process/support/operator.js";
import { PACKAGE_ROOT } from "../process/support/program.js";

const FIXTURE = join(PACKAGE_ROOT, "test/fixtures/process-driver");
const execute = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "driver-kit-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a driver in plain JavaScript", () => {
  test("installed from its tarball, conforms to the contract with processes as guests", async () => {
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

  test("uses only the published types of the package", async () => {
    const project = join(folder, "typed");
    await cp(FIXTURE, project, { recursive: true });
    await linkPackage(project);
    const options =
      "--noEmit --allowJs --checkJs --strict --module nodenext --target es2023 --skipLibCheck --types node";
    await compile(project, [...options.split(" "), "index.js", "guests.js"]);
    const sources = await Promise.all(["index.js", "guests.js"].map((name) => readFile(join(project, name), "utf8")));
    expect(sources.join("\n")).not.toMatch(/^import .* from "compute-agent"/m);
  });
});

describe("compute-agent --watch", () => {
  let cloud: LocalCloud;
  beforeEach(async () => {
    cloud = await LocalCloud.start();
  });
  afterEach(() => cloud.dispose());

  test("restarts the agent when the driver's files change, waits until a broken driver is fixed, and guests keep running", async () => {
    const driver = await newDriver(folder);
    const agent = await cloud.startAgent("watched1", { args: ["--compute-driver", driver, "--watch"] });
    const operator = new Operator(cloud);
    const id = await operator.boot("vm1", { host: "watched1" });
    await operator.serverIn(id, "ACTIVE");
    const status = await run("compute-cluster", ["status", "--json", "--state-dir", cloud.stateDir]);
    const rows = JSON.parse(status.stdout) as readonly { host: string; guests: readonly { uuid: string }[] }[];
    expect(rows.find(({ host }) => host === "watched1")?.guests).toMatchObject([{ uuid: id, record: "here" }]);
    const virsh = (...args: string[]) =>
      run("compute-cluster", ["virsh", "--host", "watched1", "--state-dir", cloud.stateDir, ...args]);
    const listed = await virsh("list", "--json");
    expect(JSON.parse(listed.stdout)).toEqual([{ id: null, name: "vm1", uuid: id, state: "running" }]);
    const changed = await virsh("destroy", "vm1");
    expect([changed.code, changed.stderr]).toEqual([
      1,
      expect.stringContaining("use that driver's tools to change its guests"),
    ]);
    const guest = join(cloud.stateDir, "agents/watched1/driver/guests", `${id}.json`);
    const before = await readFile(guest, "utf8");
    const file = join(driver, "dist/guests.js");
    const right = await readFile(file, "utf8");
    await writeFile(file, "export const Guests = ;\n");
    await agent.printed(/SyntaxError[\s\S]*ended \(2\); it is restarted when/);
    await writeFile(file, right);
    await agent.printed(
      /is restarted when[\s\S]*has changed; restarting the agent with the new driver[\s\S]*watched1 is serving/,
    );
    expect(await readFile(guest, "utf8")).toBe(before);
    const stopped = await cloud.compute("POST", `/servers/${id}/action`, { "os-stop": null });
    expect(stopped.status).toBe(202);
    await operator.serverIn(id, "SHUTOFF");
    expect(JSON.parse((await virsh("list", "--json")).stdout)).toEqual([]);
    expect(JSON.parse((await virsh("list", "--all", "--json")).stdout)).toMatchObject([{ state: "shut off" }]);
    await agent.stop();
    const silent = await virsh("list");
    expect([silent.code, silent.stderr]).toEqual([
      1,
      expect.stringContaining("the agent of watched1 did not report its guests"),
    ]);
  });
});
