import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

describe("injected faults", () => {
  let cloud: LocalCloud;
  let operator: Operator;

  /** Runs a `compute-agent fault` command to its end. */
  const fault = async (...args: string[]) => {
    const program = new Program("compute-cluster", ["fault", "--state-dir", cloud.stateDir, ...args]);
    const { code } = await program.exited;
    return { code, text: `${program.stdout}${program.stderr}` };
  };
  const rows = async (host: string) => {
    const all = JSON.parse((await fault("list", "--json")).text) as {
      host: string;
      rule: string;
      left: number | null;
    }[];
    return all.filter((row) => row.host === host);
  };

  // Each test uses a separate host.
  beforeAll(async () => {
    cloud = await LocalCloud.start();
    operator = new Operator(cloud);
  });
  afterAll(() => cloud.dispose());

  it("act while the agent runs, as often as configured", async () => {
    const agent = await cloud.startAgent("devstack1");
    const faultRule = "driver.spawn=fail:BuildAbortException:once";
    expect(await fault("set", "devstack1", faultRule)).toEqual({ code: 0, text: `devstack1: ${faultRule}\n` });
    await agent.printed(/fault set: driver\.spawn=fail:BuildAbortException:once/);
    await expect(
      operator.boot("vm1", { host: "devstack1" }).then((id) => operator.serverIn(id, "ACTIVE")),
    ).rejects.toThrow(/driver\.spawn/);
    await operator.serverIn(await operator.boot("vm2", { host: "devstack1" }), "ACTIVE");
    expect(await rows("devstack1")).toMatchObject([{ rule: faultRule, left: 0 }]);
    await fault("clear", "devstack1");
    expect(await rows("devstack1")).toEqual([]);
  });

  it("are retained for an agent that starts later, and used-up faults do not return", async () => {
    const set = await fault("set", "--before-start", "devstack2", "driver.spawn=fail:BuildAbortException:once");
    expect(set).toMatchObject({ code: 0, text: expect.stringContaining("No agent of devstack2 has read this") });
    const first = await cloud.startAgent("devstack2");
    await expect(
      operator.boot("vm1", { host: "devstack2" }).then((id) => operator.serverIn(id, "ACTIVE")),
    ).rejects.toThrow(/driver\.spawn/);
    await first.stop();
    await cloud.startAgent("devstack2");
    await operator.serverIn(await operator.boot("vm2", { host: "devstack2" }), "ACTIVE");
  });

  it("cut the agent off until they are cleared", async () => {
    await cloud.startAgent("devstack3", { args: ["-o", "report_interval=1"] });
    await fault("set", "devstack3", "conductor=partition");
    const id = await operator.boot("vm1", { host: "devstack3" });
    await cloud.eventually(
      () => operator.server(id),
      (server) => String(server["OS-EXT-SRV-ATTR:host"]) !== "" && String(server.status) === "BUILD",
    );
    await fault("clear", "devstack3", "conductor");
    await operator.serverIn(id, "ACTIVE");
  });

  it("with unknown points are rejected with the list of existing points, and nothing is set", async () => {
    const near = await fault("set", "--before-start", "devstack4", "driver.spawn=fail", "driver.spwan=fail");
    expect(near.text).toContain("there is no fault point driver.spwan. Did you mean driver.spawn?");
    const rejected = await fault("set", "--before-start", "devstack4", "driver.spawn=fail", "nonsense=fail");
    expect([near.code, rejected.code]).toEqual([2, 2]);
    for (const point of ["driver.finishMigration", "placement.put", "conductor", "agent.prep_resize."]) {
      expect(rejected.text).toContain(point);
    }
    for (const command of ["list", "clear"]) {
      const unknown = await fault(command, "devstakc4");
      expect(unknown).toMatchObject({ code: 2, text: expect.stringMatching(/there is no host devstakc4 in/) });
    }
    await fault("set", "--before-start", "devstack4", "conductor=partition:30s");
    expect(await fault("clear", "devstack4", "nonsense")).toMatchObject({ code: 2 });
    expect(await rows("devstack4")).toMatchObject([{ rule: "conductor=partition:30s", used: null }]);
    await fault("clear", "devstack4");
    expect(await rows("devstack4")).toEqual([]);
    expect(await fault("set", "devstakc4", "conductor=partition")).toMatchObject({ code: 2 });
    await fault("set", "devstack[1-2]", "driver.getDiagnostics=fail");
    for (const host of ["devstack1", "devstack2"]) {
      expect(await rows(host)).toContainEqual(expect.objectContaining({ rule: "driver.getDiagnostics=fail" }));
    }
    await fault("clear", "devstack[1-2]");
  });
});
