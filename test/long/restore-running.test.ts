import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NodePrograms } from "../../src/runtime/node/node-processes.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Program } from "../process/support/program.js";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const PRELOAD = join(ROOT, "test/fixtures/kill-at-step.cjs");
const PROGRAM = join(ROOT, "dist/bin/compute-cluster.js");

interface Row {
  readonly host: string;
  readonly state: string;
  readonly pid: number;
}

describe("a restore into a running cluster", { timeout: 300_000 }, () => {
  const programs = new NodePrograms();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "compute-agent-restore-"));
  });
  afterEach(() => run("down"));
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function run(command: string, ...args: string[]) {
    const program = begin(command, ...args);
    const { code } = await program.exited;
    return { code, stdout: program.stdout, stderr: program.stderr };
  }
  const begin = (command: string, ...args: string[]): Program =>
    new Program("compute-cluster", [...command.split(" "), ...args, "--state-dir", join(folder, "state")], {
      XDG_STATE_HOME: folder,
    });
  /** Returns the pids of the hosts, which share two processes, and of the control plane. */
  async function pids(): Promise<readonly number[]> {
    const rows = JSON.parse((await run("host list", "--json")).stdout) as readonly Row[];
    expect(rows.map(({ state }) => state)).toEqual(rows.map(() => "serving"));
    return [...new Set(rows.map(({ pid }) => pid)), (await clusterInfo()).pid];
  }
  async function clusterInfo() {
    const text = await readFile(join(folder, "state/cluster.json"), "utf8");
    return JSON.parse(text) as { readonly pid: number; readonly url: string };
  }
  async function up(): Promise<void> {
    const flags = ["--hosts", "4", "--processes", "2", "--port", "0", "--detach"];
    expect(await run("up", ...flags)).toMatchObject({ code: 0, stderr: "" });
  }
  const isFaulty = async () => (await run("fault list", "--json")).stdout.includes("driver.spawn=fail");
  /** Saves a snapshot, and changes the state. */
  async function saveAndChange(): Promise<void> {
    expect(await run("snapshot save", "one", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect(await run("fault set", "devstack1", "driver.spawn=fail")).toMatchObject({ code: 0 });
  }

  it("keeps the processes, the address and the tokens that clients have", async () => {
    await up();
    await saveAndChange();
    const before = await pids();
    const cloud = LocalCloud.over(join(folder, "state"), (await clusterInfo()).url);
    expect(await cloud.request("GET", "/compute/v2.1/servers")).toMatchObject({ status: 200 });
    expect(await run("snapshot restore", "one")).toMatchObject({ code: 0, stderr: "", stdout: "one: restored\n" });
    expect(await pids()).toEqual(before);
    expect(await isFaulty()).toBe(false);
    expect(await run("reset")).toMatchObject({ code: 0, stderr: "" });
    expect(await pids()).toEqual(before);
    expect(await cloud.request("GET", "/compute/v2.1/servers")).toMatchObject({ status: 200 });
  });

  it("kills a process that does not stop its work in time, and starts another one", async () => {
    await up();
    await saveAndChange();
    const before = await pids();
    process.kill(before[0] ?? 0, "SIGSTOP");
    expect(await run("snapshot restore", "one")).toMatchObject({ code: 0, stderr: "" });
    const after = await pids();
    expect(after).not.toContain(before[0]);
    expect(after).toEqual(expect.arrayContaining(before.slice(1)));
  });

  it("is ended by down, which waits for the control plane to return", async () => {
    await up();
    await saveAndChange();
    const before = await Promise.all((await pids()).map((pid) => programs.look(pid)));
    const restore = begin("snapshot restore", "one");
    expect(await run("down")).toMatchObject({ code: 0, stdout: expect.stringContaining(": stopped;") });
    await Promise.all(before.map(async (one) => one && programs.ended(one)));
    await restore.exited;
  });

  it("leaves the old or the new state when up is killed at any point", async () => {
    const ends = new Set<boolean>();
    for (const step of ["1", "12", "48"]) {
      await up();
      await saveAndChange();
      await run("down");
      const args = ["--require", PRELOAD, PROGRAM, "up", "--hosts", "4", "--processes", "2", "--port", "0"];
      const env = { ...process.env, KILL_AT_STEP: step, KILL_FROM: join(folder, "state/restore-under-way") };
      const dying = spawn(process.execPath, [...args, "--state-dir", join(folder, "state")], {
        env: { ...env, XDG_STATE_HOME: folder },
        stdio: "ignore",
      });
      const killed = new Promise((resolve) => dying.once("close", (_code, signal) => resolve(signal)));
      await run("wait", "--for", "hosts=4");
      const children = await Promise.all((await pids()).map((pid) => programs.look(pid)));
      const restore = begin("snapshot restore", "one");
      if ((await Promise.race([killed, restore.exited.then(() => "restored")])) === "SIGKILL") {
        await Promise.all(children.map(async (one) => one && programs.ended(one)));
        expect((await restore.exited).code).toBe(1);
        await up();
      }
      ends.add(await isFaulty());
      await run("fault clear", "devstack1");
      await run("snapshot delete", "one");
      await run("down");
    }
    expect(ends).toEqual(new Set([true, false]));
  });
});
