import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive } from "./support/is-alive.js";
import { Program } from "./support/program.js";

interface StatusRow {
  readonly host: string;
  readonly service: { readonly state: string };
  readonly provider: { readonly name: string } | null;
}

describe("compute-agent up", () => {
  let stateDir: string;
  const programs: Program[] = [];
  const run = (name: "compute-agent" | "compute-cluster", ...args: string[]): Program => {
    const program = new Program(name, [...args, "--state-dir", stateDir]);
    programs.push(program);
    return program;
  };
  const up = (...args: string[]) => run("compute-cluster", "up", "--hosts", "2", ...args);
  const ready = (cluster: Program) => cluster.printed(/Ctrl-C stops all of it/);
  const status = async (): Promise<StatusRow[]> => {
    const program = run("compute-cluster", "status", "--json");
    await program.exited;
    return JSON.parse(program.stdout) as StatusRow[];
  };
  /** Returns the pid of a component, from the plain lines of `up`. */
  const pidOf = (cluster: Program, component: string): number =>
    Number([...cluster.stdout.matchAll(new RegExp(`${component} +(?:starting|ready) +pid (\\d+)`, "g"))].at(-1)?.[1]);

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "compute-agent-up-"));
  });
  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop()));
    await rm(stateDir, { recursive: true, force: true });
  });

  it("starts its hosts, stops all of them on Ctrl-C, and continues from there when started again", async () => {
    const first = up("--port", "0");
    await ready(first);
    expect((await status()).map((row) => [row.host, row.service.state, row.provider?.name])).toEqual([
      ["devstack1", "up", "devstack1"],
      ["devstack2", "up", "devstack2"],
    ]);
    for (const secret of ["clouds.yaml", "join-token", "state.sqlite"]) {
      expect((await stat(join(stateDir, secret))).mode & 0o777, secret).toBe(0o600);
    }
    const pids = ["control-plane", "devstack1", "devstack2"].map((name) => pidOf(first, name));
    first.signal("SIGINT");
    expect(await first.exited).toEqual({ code: 0, signal: null });
    expect(pids.filter(isAlive)).toEqual([]);

    const url = first.stdout.match(/control-plane +ready +(\S+)/)?.[1];
    const second = up();
    await ready(second);
    expect(second.stdout).toContain(`control-plane  ready    ${url}`);
    expect((await status()).map((row) => row.host)).toEqual(["devstack1", "devstack2"]);
  });

  it("reports a killed host, and restarts a killed control plane, to which the other hosts reconnect", async () => {
    const cluster = up("--port", "0");
    await ready(cluster);
    process.kill(pidOf(cluster, "devstack1"), "SIGKILL");
    await cluster.printed(/devstack1 +killed +SIGKILL/);
    process.kill(pidOf(cluster, "control-plane"), "SIGKILL");
    await cluster.printed(/ended with SIGKILL; restarted[\s\S]*control-plane +ready/);
    // The agent joins through the restarted control plane, where devstack2 is still up.
    const joined = run("compute-agent", "--host", "devstack3");
    await joined.printed(/\bserving\b/);
    expect((await status()).map((row) => [row.host, row.service.state])).toContainEqual(["devstack2", "up"]);
  });

  it("leaves no process behind when it is killed", async () => {
    const cluster = up("--port", "0");
    await ready(cluster);
    const pids = ["control-plane", "devstack1", "devstack2"].map((name) => pidOf(cluster, name));
    await cluster.kill();
    while (pids.some(isAlive)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("rejects a state directory that another control plane uses", async () => {
    await ready(up("--port", "0"));
    const second = run("compute-cluster", "control-plane", "--port", "0");
    expect((await second.exited).code).toBe(2);
    expect(second.stderr).toMatch(/another control plane or Placement is using it/);
  });

  it("is rejected where a cluster runs, with its address and what to do, said once", async () => {
    await ready(up("--port", "0"));
    const second = up("--port", "0");
    expect((await second.exited).code).toBe(2);
    expect(second.stderr.trim()).toMatch(
      /^compute-agent: a cluster already runs in \S+: its control plane is http:\/\/127\.0\.0\.1:\d+ \(pid \d+\)\. Stop it with "compute-agent down", or start another with "compute-agent up --name NAME --port 0"$/,
    );
  });

  it("exits at once with the reason and exit code of its control plane when the latter cannot start", async () => {
    await mkdir(join(stateDir, "clouds.yaml"));
    const cluster = up("--port", "0");
    expect(await cluster.exited).toEqual({ code: 2, signal: null });
    expect(cluster.stderr).toMatch(/the control plane ended: cannot read \S+clouds\.yaml: it is a folder/);
    expect(cluster.stdout).not.toMatch(/stopping/);
  });

  it.each([
    ["--help | head -1", 0, /^$/],
    ["--show-config > /dev/full", 1, /^compute-agent: the output cannot be written: ENOSPC[^\n]*\n$/],
  ])("compute-agent %s exits with %d and prints no stack", (command, code, message) => {
    const agent = `"${process.execPath}" dist/bin/compute-agent.js ${command}`;
    const ended = spawnSync("bash", ["-c", `set -o pipefail; ${agent}`], { encoding: "utf8" });
    expect([ended.status, ended.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  it("an agent without a control plane reports that once, with remedies, and joins when one starts", async () => {
    const agent = run("compute-agent", "--host", "early");
    await agent.printed(/no control plane: .*compute-agent up.*--conductor/);
    await ready(up("--port", "0"));
    await agent.printed(/\bserving\b/);
    expect(agent.stderr.match(/no control plane/g)).toHaveLength(1);
    expect(agent.stderr).not.toMatch(/^\s+at /m);
  });

  it("an agent that waits for a control plane exits on Ctrl-C", async () => {
    const agent = run("compute-agent", "--host", "early");
    await agent.printed(/no control plane/);
    agent.signal("SIGINT");
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });

  it("an agent with a wrong join token exits with a message", async () => {
    await ready(up("--port", "0"));
    const wrong = join(stateDir, "wrong-token");
    await writeFile(wrong, "0123456789abcdef\n");
    const agent = run("compute-agent", "--host", "stranger", "-o", `conductor.join_token_file=${wrong}`);
    expect((await agent.exited).code).toBe(4);
    expect(agent.stderr).toMatch(/join token/);
    expect(agent.stderr).not.toContain("0123456789abcdef");
  });

  it.each([
    ["compute-agent", ["--frobnicate"], /unknown option/],
    ["compute-agent", ["-o", "nonsense"], /section\.option=value/],
    ["compute-agent", ["-o", "report_interval=soon"], /report_interval = "soon": expected/],
    ["compute-agent", ["--config-file", "/nonexistent/nova.conf"], /cannot open configuration file/],
    ["compute-agent", ["--compute-driver", "no-such-driver"], /no-such-driver cannot be loaded/],
    ["compute-cluster", ["frobnicate"], /unknown command/],
    ["compute-cluster", ["up", "--hosts", "many"], /expected 0 to 10000/],
    ["compute-cluster", ["up", "--port", "99999"], /expected a port, 0 to 65535/],
    ["compute-cluster", ["control-plane", "--port", "abc"], /expected a port, 0 to 65535/],
    ["compute-cluster", ["up", "--driver", "no-such-driver"], /no-such-driver cannot be loaded/],
    ["compute-cluster", ["up", "--config-file", "/nonexistent/nova.conf"], /cannot open configuration file/],
  ] as const)("%s %j is rejected with exit code 2 and the reason", async (name, args, message) => {
    const program = run(name, ...args);
    expect((await program.exited).code).toBe(2);
    expect(program.stderr).toMatch(message);
    expect(program.stderr).not.toMatch(/^\s+at /m);
  });
});
