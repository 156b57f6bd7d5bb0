import { expect } from "vitest";
import { evacuated, statusOf, VM } from "../../../unit/agent/support/evacuated.js";
import { AMOUNTS } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const DESTROYED = { host: "devstack1", method: "destroy", instance: VM };

scenario("3.3 row 1 a driver without the probe: not shared, disks destroyed", async (lab) => {
  await evacuated(lab, "done");
  lab.hypervisor("devstack1").probesStorage = false;
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: true }]);
});

scenario("3.3 row 2 no instance folder here: shared by nature, disks kept", async (lab) => {
  await evacuated(lab, "done");
  lab.hypervisor("devstack1").disks.delete(VM);
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
});

scenario("3.3 row 3 the destination sees the token: shared, disks kept, token removed", async (lab) => {
  await evacuated(lab, "done", { sharedStorage: true });
  await lab.start("devstack2");
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(lab.hypervisor("devstack1").disks.has(VM)).toBe(true);
  expect(lab.hypervisor("devstack1").tokens.size).toBe(0);
});

scenario("3.3 row 3 the destination does not see the token: not shared, disks destroyed", async (lab) => {
  await evacuated(lab, "done");
  await lab.start("devstack2");
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: true }]);
  expect(lab.hypervisor("devstack1").tokens.size).toBe(0);
});

scenario("3.3 row 4 bug 2085975: nobody answers at the destination: counts as shared, disks kept", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(statusOf(lab, evacuation)).toBe("completed");
});

scenario("3.3 row 4 a probe that fails: counts as shared, disks kept", async (lab) => {
  await evacuated(lab, "done");
  lab.hypervisor("devstack1").failures.set("probe", () => new Error("no space left on device"));
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
});

scenario("3.3 GAP-b no destination is recorded: nobody is asked, disks kept", async (lab) => {
  await evacuated(lab, "done", { dest: null });
  const asked: string[] = [];
  lab.beforeCall = (_host, method) => {
    if (method === "check_instance_shared_storage") {
      asked.push(method);
    }
  };
  await lab.start("devstack1");
  expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  expect(asked).toEqual([]);
});

scenario(
  "3.3 GAP-b upstream asks the instance's own host, which answers nothing",
  async (lab) => {
    await evacuated(lab, "pre-migrating", { dest: null });
    const asked: string[] = [];
    lab.beforeCall = (_host, method) => {
      if (method === "check_instance_shared_storage") {
        asked.push(method);
      }
    };
    await lab.start("devstack1", {
      config: { quirks: ["evacuation-probe-without-destination", "destroy-pending-evacuations"] },
    });
    expect(asked).toEqual(["check_instance_shared_storage"]);
    expect(lab.hypervisor("devstack1").changes).toEqual([{ ...DESTROYED, destroyDisks: false }]);
  },
  ["V2", "V5"],
);

scenario("3.3 GAP-a a conflict while stripping is tried again with a fresh read", async (lab) => {
  const evacuation = await evacuated(lab, "done");
  lab.world.network.inject({
    match: ({ from, method, url }) => from === "agent-devstack1" && method === "PUT" && url.includes("/allocations/"),
    times: 3,
    fault: { kind: "answer", response: conflict() },
  });
  await lab.start("devstack1");
  expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
  expect(statusOf(lab, evacuation)).toBe("completed");
});

for (const quirk of [false, true]) {
  const outcome = quirk ? "upstream completes the record all the same" : "the record stays for the next start";
  scenario(`3.3 GAP-a conflicts without end: ${outcome}`, async (lab) => {
    const evacuation = await evacuated(lab, "done");
    const heal = lab.world.network.inject({
      match: ({ from, method, url }) => from === "agent-devstack1" && method === "PUT" && url.includes("/allocations/"),
      fault: { kind: "answer", response: conflict() },
    });
    const run = await lab.start("devstack1", { config: { quirks: quirk ? ["forget-failed-strip"] : [] } });
    expect(run.agent.state).toBe("serving");
    expect(statusOf(lab, evacuation)).toBe(quirk ? "completed" : "done");
    expect(await lab.held(VM)).toHaveProperty(evacuation.s.uuid);
    heal();
    await lab.stop(run);
    await lab.start("devstack1");
    expect(statusOf(lab, evacuation)).toBe("completed");
    const leaked = Object.keys(await lab.held(VM)).includes(evacuation.s.uuid);
    expect(leaked).toBe(quirk);
  });
}

scenario("3.3 an instance that holds nothing any more needs no stripping", async (lab) => {
  const evacuation = await evacuated(lab, "done", { holds: [] });
  await lab.start("devstack1");
  expect(statusOf(lab, evacuation)).toBe("completed");
});

function conflict() {
  const detail = "consumer generation conflict - expected 1 but got 2";
  return {
    status: 409,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ errors: [{ status: 409, detail, code: "placement.concurrent_update" }] }),
  };
}
