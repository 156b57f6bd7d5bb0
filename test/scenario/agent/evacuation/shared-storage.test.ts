import { expect } from "vitest";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import { AMOUNTS } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const DESTROYED = { host: "devstack1", method: "destroy", instance: VM };

scenario("3.3 row 1 a driver without the probe: not shared, disks destroyed", async (harness) => {
  await evacuated(harness, "done");
  harness.hypervisor("devstack1").probesStorage = false;
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: true }]);
});

scenario("3.3 row 2 no instance folder here: shared by nature, disks kept", async (harness) => {
  await evacuated(harness, "done");
  harness.hypervisor("devstack1").disks.delete(VM);
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
});

scenario("3.3 row 3 the destination sees the token: shared, disks kept, token removed", async (harness) => {
  await evacuated(harness, "done", { sharedStorage: true });
  await harness.start("devstack2");
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(harness.hypervisor("devstack1").disks.has(VM)).toBe(true);
  expect(harness.hypervisor("devstack1").tokens.size).toBe(0);
});

scenario("3.3 row 3 the destination does not see the token: not shared, disks destroyed", async (harness) => {
  await evacuated(harness, "done");
  await harness.start("devstack2");
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: true }]);
  expect(harness.hypervisor("devstack1").tokens.size).toBe(0);
});

scenario("3.3 row 4 bug 2085975: the destination does not respond: counts as shared, disks kept", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(statusOf(harness, evacuation)).toBe("completed");
});

scenario("3.3 row 4 a probe that fails: counts as shared, disks kept", async (harness) => {
  await evacuated(harness, "done");
  harness.hypervisor("devstack1").failures.set("probe", () => new Error("no space left on device"));
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
});

scenario("3.3 GAP-b no destination is recorded: no host is called, disks kept", async (harness) => {
  await evacuated(harness, "done", { dest: null });
  const calls: string[] = [];
  harness.beforeCall = (_host, method) => {
    if (method === "check_instance_shared_storage") {
      calls.push(method);
    }
  };
  await harness.start("devstack1");
  expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(calls).toEqual([]);
});

scenario(
  "3.3 GAP-b upstream asks the instance's own host, which answers nothing",
  async (harness) => {
    await evacuated(harness, "pre-migrating", { dest: null });
    const calls: string[] = [];
    harness.beforeCall = (_host, method) => {
      if (method === "check_instance_shared_storage") {
        calls.push(method);
      }
    };
    await harness.start("devstack1", {
      config: { quirks: ["evacuation-probe-without-destination", "destroy-pending-evacuations"] },
    });
    expect(calls).toEqual(["check_instance_shared_storage"]);
    expect(harness.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  },
  ["V2", "V5"],
);

scenario("3.3 GAP-a a conflict while stripping is tried again with a fresh read", async (harness) => {
  const evacuation = await evacuated(harness, "done");
  harness.world.network.inject({
    match: ({ from, method, url }) => from === "agent-devstack1" && method === "PUT" && url.includes("/allocations/"),
    times: 3,
    fault: { kind: "answer", response: conflict() },
  });
  await harness.start("devstack1");
  expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(harness, evacuation)).toBe("completed");
});

for (const quirk of [false, true]) {
  const outcome = quirk ? "upstream completes the record all the same" : "the record stays for the next start";
  scenario(`3.3 GAP-a conflicts without end: ${outcome}`, async (harness) => {
    const evacuation = await evacuated(harness, "done");
    const heal = harness.world.network.inject({
      match: ({ from, method, url }) => from === "agent-devstack1" && method === "PUT" && url.includes("/allocations/"),
      fault: { kind: "answer", response: conflict() },
    });
    const run = await harness.start("devstack1", { config: { quirks: quirk ? ["forget-failed-strip"] : [] } });
    expect(run.agent.state).toBe("serving");
    expect(statusOf(harness, evacuation)).toBe(quirk ? "completed" : "done");
    expect(await harness.held(VM)).toHaveProperty(evacuation.s.uuid);
    heal();
    await harness.stop(run);
    await harness.start("devstack1");
    expect(statusOf(harness, evacuation)).toBe("completed");
    const leaked = Object.keys(await harness.held(VM)).includes(evacuation.s.uuid);
    expect(leaked).toBe(quirk);
  });
}

scenario("3.3 an instance that holds nothing any more needs no stripping", async (harness) => {
  const evacuation = await evacuated(harness, "done", { holds: [] });
  await harness.start("devstack1");
  expect(statusOf(harness, evacuation)).toBe("completed");
});

function conflict() {
  const detail = "consumer generation conflict - expected 1 but got 2";
  return {
    status: 409,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ errors: [{ status: 409, detail, code: "placement.concurrent_update" }] }),
  };
}
