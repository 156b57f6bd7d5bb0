import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

function ask(path = "", token?: string) {
  return world.ask({ url: `/compute/v2.1/os-instance_usage_audit_log${path}`, token });
}

beforeEach(async () => {
  world = await ApiWorld.open();
});

describe("the log of usage audits", () => {
  test("reports hosts without an audit of the last month, including disabled hosts", async () => {
    world.host("devstack1");
    const { id } = world.host("devstack2");
    world.store.services.update(id, { disabled: true });
    const log = {
      period_beginning: "2026-02-01 00:00:00",
      period_ending: "2026-03-01 00:00:00",
      num_hosts: 2,
      num_hosts_done: 0,
      num_hosts_running: 0,
      num_hosts_not_run: 2,
      hosts_not_run: ["devstack1", "devstack2"],
      total_instances: 0,
      total_errors: 0,
      overall_status: "0 of 2 hosts done. 0 errors.",
      log: {},
    };
    const before = await ask(`/${encodeURIComponent("2026-03-12 01:02:03.456")}`);
    expect([before.status, before.json()]).toEqual([200, { instance_usage_audit_log: log }]);
    await world.world.advance(1000);
    expect((await ask()).json()).toEqual({
      instance_usage_audit_logs: {
        ...log,
        period_beginning: "2025-12-01 00:00:00",
        period_ending: "2026-01-01 00:00:00",
      },
    });
  });

  test("reports the hosts' records, including unfinished ones", async () => {
    for (const host of ["devstack1", "devstack2", "devstack3"]) {
      world.host(host);
    }
    const october = { begin: Date.UTC(2026, 9, 1), end: Date.UTC(2026, 10, 1) };
    const launched = { launchedAt: Date.UTC(2026, 9, 30) };
    world.server("devstack1", launched);
    world.server("devstack1", { ...launched, launchedAt: Date.UTC(2026, 10, 2) });
    world.server("devstack2", launched);
    expect(world.store.taskLogs.begin("devstack1", october)).toBe(1);
    world.store.taskLogs.end("devstack1", october, { errors: 2, message: "ran" });
    expect(world.store.taskLogs.begin("devstack1", october), "it is complete").toBeNull();
    expect(world.store.taskLogs.begin("devstack2", october)).toBe(1);
    expect(world.store.taskLogs.begin("devstack2", october), "its agent was killed").toBe(1);
    const log = (await ask(`/${encodeURIComponent("2026-11-12 01:02:03")}`)).json("instance_usage_audit_log");
    expect(log).toMatchObject({
      period_beginning: "2026-10-01 00:00:00",
      num_hosts_done: 1,
      num_hosts_running: 1,
      num_hosts_not_run: 1,
      hosts_not_run: ["devstack3"],
      total_instances: 2,
      total_errors: 2,
      overall_status: "1 of 3 hosts done. 2 errors.",
      log: {
        devstack1: { state: "DONE", instances: 1, errors: 2, message: "ran" },
        devstack2: { state: "RUNNING", instances: 1, errors: 0, message: "Instance usage audit started..." },
      },
    });
  });

  test("is complete without hosts", async () => {
    expect((await ask()).json("instance_usage_audit_logs", "overall_status")).toBe("ALL hosts done. 0 errors.");
  });

  test.each([
    "",
    "2026-11-25",
    "2026-11-25T17:58:51",
    "2026-11-25 17:58:51Z",
    "2026-11-25 17:58:51.",
    "2026-11-25 17:58:51.1234567",
    "2026-02-29 00:00:00",
    "2100-02-29 00:00:00",
    "2026-04-31 00:00:00",
    "2026-13-01 00:00:00",
    "2026-00-01 00:00:00",
    "2026-11-00 00:00:00",
    "2026-11-25 24:00:00",
    "2026-11-25 00:60:00",
    "2026-11-25 00:00:60",
    "0000-11-25 00:00:00",
  ])("%j is an invalid time", async (before) => {
    expect((await ask(`/${encodeURIComponent(before)}`)).status).toBe(before === "" ? 404 : 400);
  });

  test.each([
    ["2026-11-01 00:00:00.000001", "2026-10-01 00:00:00"],
    ["2026-11-01 00:00:00", "2026-09-01 00:00:00"],
    ["2026-1-1 0:0:0.0", "2025-11-01 00:00:00"],
  ])("before %s the last month began at %s", async (before, begin) => {
    const reply = await ask(`/${encodeURIComponent(before)}`);
    expect(reply.json("instance_usage_audit_log", "period_beginning")).toBe(begin);
  });

  test("rejects invalid times, and callers who are not administrators", async () => {
    const reply = await ask("/invalid_time");
    expect([reply.status, reply.message]).toEqual([400, "Invalid timestamp for date invalid_time"]);
    expect((await ask("/invalid_time", await world.token("demo"))).status).toBe(403);
  });
});
