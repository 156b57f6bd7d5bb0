import { expect } from "vitest";
import { createResourceTracker } from "../../../src/agent/tracker/resource-tracker.js";
import { ReshapeFailed } from "../../../src/virt/errors.js";
import { addInstance, placed, uuidOf } from "../../unit/agent/support/records.js";
import { scenario } from "../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

scenario("2.1 row 4 a sibling made the service meanwhile: it is taken", async (harness) => {
  harness.beforeCall = (host, method) => {
    if (method === "service_create") {
      harness.addService(host);
    }
  };
  const run = await harness.start("devstack1");
  expect(run.agent.state).toBe("serving");
  expect(harness.store.services.list({ host: "devstack1" })).toHaveLength(1);
});

scenario("2.1 row 4 enable_new_services off: the new service starts disabled", async (harness) => {
  await harness.start("devstack1", { config: { defaults: { enable_new_services: false } } });
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toMatchObject({ disabled: true });
});

scenario("2.1 row 5 a fatal error of the first pass ends the start; the service row stays", async (harness) => {
  const failed = await harness.failure("devstack1", {
    factories: {
      tracker: async (context) => {
        const tracker = await createResourceTracker(context);
        tracker.updateAvailableResource = async () => {
          throw new ReshapeFailed("the tree does not fit");
        };
        return tracker;
      },
    },
  });
  expect(failed.name).toBe("ReshapeFailed");
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toMatchObject({ reportCount: 0 });
  expect(harness.controlPlane.conductor.bus.serves("devstack1")).toBe(false);
  expect(harness.store.leases.get("devstack1")).toBeNull();
});

scenario("4.8 row 6 an unreachable Placement does not keep a new host from serving", async (harness) => {
  const heal = harness.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.startsWith("http"),
    fault: { kind: "refuse" },
  });
  const run = await harness.start("devstack1", { config: { defaults: { periodic_enable: true } } });
  expect(run.agent.state).toBe("serving");
  expect(await harness.providers()).toEqual([]);
  heal();
  await harness.world.advance(130_000);
  expect(await harness.providers()).toEqual(["devstack1"]);
});

scenario("2.1 row 6 casts reach the operations, with their request id in the log", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  const run = await harness.start("devstack1");
  const { bus } = harness.controlPlane.conductor;
  bus.cast("devstack1", "terminate_instance", { instanceUuid: VM, requestId: "req-a" }, "req-a");
  bus.cast("devstack1", "reboot_instance", { instanceUuid: VM, type: "HARD", requestId: "req-b" }, "req-b");
  await harness.world.advance(1_000);
  expect(run.operations).toEqual([`terminate ${VM}`, `reboot HARD ${VM}`]);
  const logged = run.runtime.logs.filter(({ fields }) => fields.request_id === "req-b");
  expect(logged.map(({ level }) => level)).toEqual(["debug", "info"]);
  expect(logged.at(-1)?.message).toBe("reboot_instance finished");
});

scenario("2.5 row 4 set_host_enabled: the trait follows, and the answer says what it is", async (harness) => {
  await harness.seed("devstack1");
  await harness.start("devstack1");
  const { bus } = harness.controlPlane.conductor;
  const call = (enabled: boolean) =>
    harness.world.runUntil(bus.call("devstack1", "set_host_enabled", { enabled }, { requestId: "req-1" }));
  expect(await call(false)).toBe("disabled");
  expect(await harness.traits("devstack1")).toContain("COMPUTE_STATUS_DISABLED");
  expect(await call(true)).toBe("enabled");
  expect(await harness.traits("devstack1")).not.toContain("COMPUTE_STATUS_DISABLED");
});

scenario("2.4 c a first start is one line of INFO, and no warning", async (harness) => {
  const { runtime } = await harness.start("devstack1");
  expect(runtime.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  expect(
    runtime.logs.filter(({ message }) => message === "first start: no compute node is recorded for this host"),
  ).toMatchObject([{ level: "info" }]);
});

scenario("2.4 c a host that has a service, and no compute node, is a warning", async (harness) => {
  harness.addService("devstack1");
  await harness.write("/state/devstack1/compute_id", uuidOf(7));
  const { runtime } = await harness.start("devstack1");
  expect(runtime.logs.filter(({ level }) => level === "warn")).toMatchObject([
    {
      message: expect.stringContaining(
        "no compute node is recorded for this hypervisor, although the host has a service",
      ),
    },
  ]);
});
