import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NodePrograms } from "../../src/runtime/node/node-processes.js";
import { Program } from "../process/support/program.js";

interface Row {
  readonly host: string;
  readonly state: string;
  readonly pid: number | null;
}

describe("snapshots of a cluster of processes", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "compute-agent-snapshots-"));
  });
  afterAll(async () => {
    await run("down", "one");
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a command to its end, for the cluster in a folder. */
  async function run(command: string, cluster: string, ...args: string[]) {
    const program = new Program(
      "compute-cluster",
      [...command.split(" "), ...args, "--state-dir", join(folder, cluster)],
      {
        XDG_STATE_HOME: folder,
      },
    );
    const { code } = await program.exited;
    return { code, stdout: program.stdout, stderr: program.stderr };
  }
  const hosts = async (cluster: string) =>
    (JSON.parse((await run("host list", cluster, "--json")).stdout) as readonly Row[])
      .map(({ host, state }) => `${host} ${state}`)
      .toSorted();

  it("are saved and restored while it runs, copied to another cluster, and undo additions", async () => {
    const up = await run("up", "one", "--hosts", "1", "--port", "0", "--detach", "--json");
    expect(up).toMatchObject({ code: 0, stderr: "" });
    const { url } = JSON.parse(up.stdout) as { readonly url: string };
    expect(await run("fault set", "one", "devstack1", "driver.spawn=fail")).toMatchObject({ code: 0 });
    expect(await run("snapshot save", "one", "with-fault")).toMatchObject({ code: 0, stderr: "" });
    expect(await run("snapshot save", "one", "with-fault")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/save overwrites:\n {2}- snapshot with-fault of 2/),
    });
    expect(await run("snapshot save", "one", "with-fault", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect((await stat(join(folder, "one/snapshots/with-fault.snapshot"))).mode & 0o777).toBe(0o600);
    expect(await run("host add", "one", "extra1")).toMatchObject({ code: 0 });

    expect(await run("reset", "one")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/reset destroys:\n {2}- host extra1\n.*confirm it with --yes; nothing was changed/),
    });
    expect(await hosts("one")).toEqual(["devstack1 serving", "extra1 serving"]);
    expect(await run("reset", "one", "--yes")).toMatchObject({ code: 0, stderr: "" });
    expect(await hosts("one")).toEqual(["devstack1 serving"]);
    expect((await run("fault list", "one", "--json")).stdout).toBe("[]\n");

    expect(await run("snapshot restore", "one", "with-fault")).toMatchObject({ code: 0, stderr: "" });
    expect((await run("fault list", "one", "--json")).stdout).toContain("driver.spawn=fail");
    expect((await run("env", "one", "--openrc")).stdout).toContain(url);

    const exported = join(folder, "exported");
    expect(await run("snapshot export", "one", "with-fault", exported)).toMatchObject({ code: 0 });
    expect(await run("snapshot import", "two", exported, "theirs")).toMatchObject({ code: 0 });
    expect(await run("snapshot restore", "two", "theirs")).toMatchObject({ code: 0, stderr: "" });
    expect((await run("fault list", "two", "--json")).stdout).toContain("driver.spawn=fail");
    const listed = JSON.parse((await run("snapshot list", "two", "--json")).stdout) as readonly unknown[];
    expect(listed).toMatchObject([{ name: "theirs", hosts: 1 }]);
  });

  it("restore killed and stopped hosts as they were, and suspended ones as killed, until they are started", async () => {
    const flags = ["--port", "0", "--detach"];
    expect(await run("up", "broken", "--hosts", "4", ...flags)).toMatchObject({ code: 0 });
    const rows = JSON.parse((await run("host list", "broken", "--json")).stdout) as readonly Row[];
    const suspended = rows.find(({ host }) => host === "devstack3")?.pid ?? 0;
    await run("host kill", "broken", "devstack1");
    await run("host stop", "broken", "devstack2");
    process.kill(suspended, "SIGSTOP");
    expect(await run("snapshot save", "broken", "incident")).toMatchObject({ code: 0, stderr: "" });
    expect(await new NodePrograms().look(suspended), "saving it wakes nobody").toMatchObject({ suspended: true });
    process.kill(suspended, "SIGCONT");
    expect((await run("snapshot list", "broken")).stdout).toContain("1 running, 1 killed, 1 stopped, 1 suspended");
    const snapshot = JSON.parse((await run("snapshot show", "broken", "incident", "--json")).stdout) as {
      readonly hosts: readonly object[];
    };
    expect(snapshot.hosts).toEqual(
      ["killed", "stopped", "suspended", "running"].map((state, at) => {
        return { host: `devstack${at + 1}`, driver: "fake-libvirt", state, forcedDown: false };
      }),
    );
    await run("host start", "broken", "devstack[1-2]");

    const restored = await run("snapshot restore", "broken", "incident");
    const down = ["devstack1 killed", "devstack2 stopped", "devstack3 killed", "devstack4 serving"];
    expect([restored.code, restored.stderr, await hosts("broken")]).toEqual([0, "", down]);
    expect(restored.stdout).toContain("as when the state was saved: devstack1 killed, devstack2 stopped.");
    expect(restored.stdout).toContain("Killed: devstack3, which were suspended when the state was saved");
    const pids = JSON.parse((await run("host list", "broken", "--json")).stdout) as readonly Row[];
    expect(pids.filter(({ pid }) => pid !== null)).toHaveLength(1);
    await expect
      .poll(() => new NodePrograms().look(suspended), { message: "nobody needs its process" })
      .toBeUndefined();

    // After a restore of a stopped cluster, the next start leaves these hosts down. It includes all four hosts.
    await run("down", "broken");
    expect(await run("snapshot restore", "broken", "incident")).toMatchObject({ code: 0, stderr: "" });
    const up = await run("up", "broken", ...flags);
    expect([up.code, await hosts("broken")]).toEqual([0, down]);
    expect(up.stdout).toContain("Left down, as in the restored state: devstack[1-3]");
    expect(await run("reset", "broken")).toMatchObject({ code: 0, stderr: "" });
    expect(await hosts("broken")).toEqual(down);

    expect(await run("snapshot restore", "broken", "incident", "--start-hosts")).toMatchObject({ code: 0, stderr: "" });
    expect(await hosts("broken")).toEqual([1, 2, 3, 4].map((host) => `devstack${host} serving`));
    expect(await run("down", "broken")).toMatchObject({ code: 0 });
  });

  it("are rejected with a reason and its exit code", async () => {
    expect(await run("snapshot restore", "one", "nobody")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("does not exist; list all with compute-agent snapshot list"),
    });
    expect(await run("snapshot delete", "one", "with-fault")).toMatchObject({ code: 0 });
    expect(await run("snapshot delete", "one", "with-fault")).toMatchObject({ code: 3 });
    expect(await hosts("one")).toEqual(["devstack1 serving"]);
  });

  it("are not restored under agents that the cluster did not start, unless confirmed", async () => {
    const agent = new Program("compute-agent", ["--host", "stranger", "--state-dir", join(folder, "one")], {});
    try {
      await agent.printed(/serving/);
      expect(await run("reset", "one")).toMatchObject({ code: 3, stderr: expect.stringContaining("stranger") });
      expect(await run("reset", "one", "--yes")).toMatchObject({ code: 0 });
    } finally {
      agent.signal("SIGKILL");
    }
  });
});
