import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DriverReport } from "../../src/testing/attempt.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

const DRIVER = join(dirname(dirname(fileURLToPath(import.meta.url))), "fixtures/misbehaving-driver/index.js");

/** Checks a driver that misbehaves in this way in each spawn. */
async function check(misdeed: string, ...args: string[]) {
  const program = new Program("compute-agent", ["driver", "check", DRIVER, ...args], { MISBEHAVE: misdeed });
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

describe("driver check", () => {
  it.each<readonly [misdeed: string, message: RegExp]>([
    ["exit", /^spawn must not end the process, but it ended \(exit code 0\)$/],
    ["exit-code", /^spawn must not end the process, but it ended \(exit code 0\)$/],
    ["rejects", /^spawn must leave no error uncaught.*the hypervisor hung up.*misbehaving-driver\/index\.js:\d+/],
    ["throws", /^spawn must leave no error uncaught.*the hypervisor fell over/],
    ["throws-in-microtask", /^spawn must leave no error uncaught.*the hypervisor fell over/],
    ["hangs", /^spawn must return, but it did not return within 3 s; the process was killed$/],
    ["blocks", /^spawn must return, but it did not return within 3 s; the process was killed$/],
  ])("8.10 %s in a method fails the rule by its name, and the other rules run", async (misdeed, message) => {
    const limit = ["hangs", "blocks"].includes(misdeed) ? ["--limit", "3"] : [];
    const { code, stdout } = await check(misdeed, "--json", "--only", "nodes-are-listed,spawn-runs", ...limit);
    const { driver, results } = JSON.parse(stdout) as DriverReport;
    expect([code, driver]).toEqual([1, "misbehaving"]);
    expect(results).toMatchObject([
      { outcome: "passed" },
      { outcome: "failed", message: expect.stringMatching(message) },
    ]);
  });

  it("8.10 a module that ends the process is rejected as a driver", async () => {
    const { code, stderr } = await check("exit-at-import");
    expect(code).toBe(2);
    expect(stderr).toContain("its module must not end the process, but it ended (exit code 0)");
  });

  it("8.10 output of a driver does not mix with the report", async () => {
    const { stdout } = await check("prints", "--json", "--only", "spawn-runs");
    expect((JSON.parse(stdout) as DriverReport).driver).toBe("misbehaving");
  });
});

describe("an agent", () => {
  let cloud: LocalCloud;
  let operator: Operator;
  beforeEach(async () => {
    cloud = await LocalCloud.start();
    operator = new Operator(cloud);
  });
  afterEach(() => cloud.dispose());

  const startAgent = (...args: string[]) =>
    cloud.startAgent("devstack1", { args: ["--compute-driver", DRIVER, ...args] });

  const startPool = async (): Promise<Program> => {
    const pool = await cloud.startAgent("n[1-3]", { args: ["--compute-driver", DRIVER], wait: false });
    await pool.printed(/3 of 3 hosts serve/);
    return pool;
  };

  async function service(): Promise<Record<string, unknown>> {
    const { body } = await cloud.compute("GET", "/os-services?binary=nova-compute");
    return (body.services as unknown as Record<string, unknown>[])[0] ?? {};
  }

  it.each(["exit", "exit-code"])(
    "8.10 whose driver calls process.exit (%s) exits with 1, and reports which call did so, for which instance",
    async (misdeed) => {
      const agent = await startAgent();
      const id = await operator.boot(misdeed);
      expect((await agent.exited).code).toBe(1);
      expect(agent.stderr).toContain("driver misbehaving ended the process by process.exit(0) in spawn");
      expect(agent.stderr).toMatch(new RegExp(`for instance ${id}, on behalf of req-[-0-9a-f]{36}`));
    },
  );

  it("8.10 whose driver never finishes loading, or ends the process meanwhile, reports that and exits with 1", async () => {
    const limit = ["-o", "compute_agent.driver_import_timeout=1"];
    const load = async (misdeed: string) => {
      const args = ["--host", "devstack1", "--state-dir", cloud.stateDir, "--compute-driver", DRIVER, ...limit];
      const agent = new Program("compute-agent", args, { MISBEHAVE: misdeed });
      const { code } = await agent.exited;
      return [code, agent.stderr];
    };
    expect(await load("hang-at-import")).toEqual([
      1,
      expect.stringMatching(/import.*misbehaving-driver\/index\.js|misbehaving-driver\/index\.js.*import/),
    ]);
    expect(await load("exit-at-import")).toEqual([1, expect.stringContaining("process.exit(0) in import")]);
    expect(await service(), "nothing was begun").toEqual({});
  });

  it("8.10 whose driver leaves an unhandled rejection fails only that server, at once, counts the error, and continues", async () => {
    const agent = await startAgent("--metrics-port", "0");
    const [, url = ""] = await agent.printed(/metrics on (http:\S+)/);
    const bad = await operator.boot("rejects");
    await operator.serverIn(bad, "ERROR");
    expect(agent.stderr).toMatch(/spawn left an unhandled promise rejection; the call fails.*the hypervisor hung up/);
    const good = await operator.boot("good");
    await operator.serverIn(good, "ACTIVE");
    const metrics = await (await fetch(url)).text();
    expect(metrics).toContain(
      'openstack_nova_compute_driver_stray_errors_total{host="devstack1",method="spawn",kind="rejection"} 1',
    );
    await agent.stop();
    expect((await agent.exited).code).toBe(0);
  });

  it.each(["throws", "throws-in-microtask"])(
    "8.10 whose driver %s, where nothing can catch it, disables its service, drains, and exits with 1 and the reason",
    async (misdeed) => {
      const agent = await startAgent();
      await operator.boot(misdeed);
      expect((await agent.exited).code).toBe(1);
      expect(agent.stderr).toContain("driver misbehaving threw an uncaught error in a callback of spawn");
      expect(await service()).toMatchObject({
        status: "disabled",
        disabled_reason: expect.stringMatching(
          /^AUTO: driver misbehaving threw an uncaught error in a callback of spawn.*fell over$/,
        ),
      });
    },
  );

  it("8.10 stopped during a hanging spawn logs the call and instance that it waits for; a second SIGTERM ends it with 1", async () => {
    const agent = await startAgent();
    const id = await operator.boot("hangs");
    await cloud.eventually(
      () => operator.server(id),
      (server) => server["OS-EXT-STS:task_state"] === ("spawning" as unknown),
    );
    agent.signal("SIGTERM");
    await agent.printed(
      new RegExp(
        `shutdown is waiting for spawn of driver misbehaving, for instance ${id}, on behalf of req-[-0-9a-f]+, for \\d+ s now.* host=devstack1`,
      ),
    );
    agent.signal("SIGTERM");
    expect((await agent.exited).code).toBe(1);
  });

  it("8.10 whose driver blocks the event loop reports that meanwhile and afterwards, with the driver's last call", async () => {
    const agent = await startAgent();
    const id = await operator.boot("blocks");
    await agent.printed(
      new RegExp(
        `event loop has been blocked for \\d s.*the driver's last call was spawn of driver misbehaving, of host devstack1, for instance ${id}`,
      ),
    );
    await agent.printed(/the event loop runs again after a block of \d+ s; heartbeats.*spawn of driver misbehaving/);
    await operator.serverIn(id, "ACTIVE");
    await agent.stop();
  });

  it.each(["throws", "throws-in-microtask"])(
    "8.10 of many hosts in a process, one whose driver %s is ended, and the other hosts continue to build",
    async (misdeed) => {
      const pool = await startPool();
      await operator.boot(misdeed, { host: "n1" });
      await pool.printed(/host n1 does not serve \(VirtDriverCrashed\): .*the hypervisor fell over/);
      await operator.serverIn(await operator.boot("good", { host: "n2" }), "ACTIVE");
      const { body } = await cloud.compute("GET", "/os-services?binary=nova-compute");
      const services = body.services as unknown as Record<string, unknown>[];
      expect(services.filter(({ status }) => status === "disabled").map(({ host }) => host)).toEqual(["n1"]);
      await pool.stop();
      expect((await pool.exited).code).toBe(0);
    },
  );

  it("8.10 of many hosts in a process, one whose driver blocks the event loop is named", async () => {
    const pool = await startPool();
    const id = await operator.boot("blocks", { host: "n2" });
    await pool.printed(/event loop has been blocked for \d s.*spawn of driver misbehaving, of host n2, for instance/);
    await operator.serverIn(id, "ACTIVE");
    await pool.stop();
  });
});
