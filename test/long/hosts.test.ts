import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isAlive } from "../process/support/is-alive.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { run } from "../process/support/new-driver.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

interface Row {
  readonly host: string;
  readonly state: string;
  readonly pid: number | null;
  readonly process: string | null;
  readonly servers: number;
  readonly service: { readonly enabled: boolean } | null;
}

describe("compute-agent host", () => {
  let stateDir: string;
  let cluster: Program;
  let operator: Operator;

  const up = async (...args: string[]) => {
    cluster = new Program("compute-cluster", ["up", "--port", "0", "--state-dir", stateDir, ...args]);
    await cluster.printed(/Ctrl-C stops all of it/);
    const url = cluster.stdout.match(/control-plane +ready +(\S+)/)?.[1] ?? "";
    operator = new Operator(LocalCloud.over(stateDir, url));
  };
  const host = (command: string, ...args: string[]) =>
    run("compute-cluster", ["host", command, ...args, "--state-dir", stateDir]);
  const done = async (command: string, ...args: string[]) => {
    const { code, stdout, stderr } = await host(command, ...args);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const rows = async (): Promise<readonly Row[]> => JSON.parse(await done("list", "--json")) as Row[];
  const states = async () => (await rows()).map(({ host: name, state }) => `${name} ${state}`);
  const audit = () => run("compute-cluster", ["audit", "--nova-manage-exit-codes", "--state-dir", stateDir]);

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "compute-agent-hosts-"));
  });
  afterEach(async () => {
    await cluster.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  it("kills the process of a host, restarts it with its settings, adds hosts, and removes one with a server", async () => {
    await up("--hosts", "2");
    const vm = await operator.boot("vm1", { host: "devstack1" });
    await operator.serverIn(vm, "ACTIVE");
    const pid = (await rows()).find(({ host: name }) => name === "devstack1")?.pid ?? 0;
    expect(await done("kill", "devstack1")).toBe("devstack1 killed");
    expect(isAlive(pid)).toBe(false);
    expect(await states()).toEqual(["devstack1 killed", "devstack2 serving"]);
    expect(await done("start", "--all")).toBe("devstack[1-2] serving");
    expect((await rows()).find(({ host: name }) => name === "devstack1")).toMatchObject({ process: "own", servers: 1 });

    expect(await done("add", "rack[1-2]", "-o", "cpu_allocation_ratio=2")).toBe("rack[1-2] serving");
    expect(await done("add", "rack[1-2]", "-o", "cpu_allocation_ratio=2")).toBe("rack[1-2] serving");
    const rejected = await host("remove", "devstack1");
    expect([rejected.code, rejected.stderr]).toEqual([1, expect.stringContaining("devstack1 has 1 server (vm1)")]);
    expect(await done("remove", "devstack1", "rack2", "--evacuate")).toMatch(
      /^(devstack1,rack2|rack2,devstack1) removed$/,
    );
    expect(await states()).toEqual(["devstack2 serving", "rack1 serving"]);
    const server = await operator.server(vm);
    expect(["devstack2", "rack1"]).toContain(String(server["OS-EXT-SRV-ATTR:host"]));
    expect((await audit()).code).toBe(0);
    const unknown = await host("kill", "devstock2");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("did you mean devstack2?")]);
  });

  it("start and restore return once servers can be scheduled to the hosts, however short the service down time", async () => {
    const config = join(stateDir, "nova.conf");
    // Less than the five seconds after which an agent sends its first heartbeat.
    await writeFile(config, "[DEFAULT]\nreport_interval = 1\nservice_down_time = 3\n");
    const command = async (...args: string[]) => run("compute-cluster", [...args, "--state-dir", stateDir]);
    const services = async () =>
      (
        JSON.parse((await command("status", "--json")).stdout) as { readonly service: { readonly state: string } }[]
      ).map(({ service }) => service.state);
    await up("--hosts", "2", "--config-file", config);
    expect(await services()).toEqual(["up", "up"]);
    await done("kill", "devstack1");
    const started = await host("start", "devstack1");
    expect([await services(), started.code, started.stderr]).toEqual([
      ["up", "up"],
      0,
      "compute-agent: waiting for the first heartbeat of devstack1\n",
    ]);
    expect((await command("reset")).code).toBe(0);
    expect(await services()).toEqual(["up", "up"]);
  });

  it("controls the hosts of a pool one by one", async () => {
    await up("--hosts", "4", "--processes", "1");
    const [first, ...others] = await rows();
    expect(others.every(({ pid, process }) => pid === first?.pid && process === "pool-1")).toBe(true);
    expect(await done("kill", "devstack[2-3]")).toBe("devstack[2-3] killed");
    expect(await done("stop", "devstack4")).toBe("devstack4 stopped");
    expect(isAlive(first?.pid ?? 0)).toBe(true);
    const fault = ["devstack4", "driver.getAvailableResource=fail:once"];
    expect((await run("compute-cluster", ["fault", "set", ...fault, "--state-dir", stateDir])).code).toBe(0);
    expect(await done("start", "devstack[3-4]")).toBe("devstack[3-4] serving");
    expect(await done("logs", "devstack4", "-n", "1")).toMatch(/devstack(?:4|\[)/);
    await done("remove", "devstack2");
    expect(await states()).toEqual(["devstack1 serving", "devstack3 serving", "devstack4 serving"]);
  });

  it("starts a host that up was started without, and enables scheduling to it only then", async () => {
    await up("--hosts", "2");
    await cluster.stop();
    await up("--hosts", "1");
    expect(cluster.stdout).toContain("Not started: devstack2");
    expect(await rows()).toMatchObject([
      { host: "devstack1", state: "serving", service: { enabled: true } },
      { host: "devstack2", state: "stopped", service: { enabled: false } },
    ]);
    expect(await done("start", "devstack2")).toBe("devstack2 serving");
    expect((await rows()).map(({ service }) => service?.enabled)).toEqual([true, true]);
    await cluster.stop();
    await up("--hosts", "1", "--remove");
    expect(cluster.stdout).toContain("Removed: devstack2.");
    expect(await states()).toEqual(["devstack1 serving"]);
  });
});
