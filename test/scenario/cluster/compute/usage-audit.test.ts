import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld } from "../../../unit/cluster/compute/api-world.js";

let world: ApiWorld;

function ask(path = "", token?: string) {
  return world.ask({ url: `/compute/v2.1/os-instance_usage_audit_log${path}`, token });
}

beforeEach(async () => {
  world = await ApiWorld.open();
});

describe("the log of usage audits", () => {
  test("says that no host has run one in the last month, hosts that are disabled included", async () => {
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

  test("is done where there are no hosts", async () => {
    expect((await ask()).json("instance_usage_audit_logs", "overall_status")).toBe("ALL hosts done. 0 errors.");
  });

  test("refuses what is no time, and whoever is no administrator", async () => {
    const reply = await ask("/invalid_time");
    expect([reply.status, reply.message]).toEqual([400, "Invalid timestamp for date invalid_time"]);
    expect((await ask("/invalid_time", await world.token("demo"))).status).toBe(403);
  });
});
