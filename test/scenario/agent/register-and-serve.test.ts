import { expect } from "vitest";
import { createResourceTracker } from "../../../src/agent/tracker/resource-tracker.js";
import { ReshapeFailed } from "../../../src/virt/errors.js";
import { addInstance, placed, uuidOf } from "../../unit/agent/support/records.js";
import { scenario } from "../../unit/agent/support/scenario.js";

const VM = uuidOf(1);

scenario("2.1 row 4 a sibling made the service meanwhile: it is taken", async (lab) => {
  lab.beforeCall = (host, method) => {
    if (method === "service_create") {
      lab.addService(host);
    }
  };
  const run = await lab.start("devstack1");
  expect(run.agent.state).toBe("serving");
  expect(lab.store.services.list({ host: "devstack1" })).toHaveLength(1);
});

scenario("2.1 row 4 enable_new_services off: the new service starts disabled", async (lab) => {
  await lab.start("devstack1", { config: { defaults: { enable_new_services: false } } });
  expect(lab.store.services.getByHost("devstack1", "nova-compute")).toMatchObject({ disabled: true });
});

scenario("2.1 row 5 a fatal error of the first pass ends the start; the service row stays", async (lab) => {
  const failed = await lab.failure("devstack1", {
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
  expect(lab.store.services.getByHost("devstack1", "nova-compute")).toMatchObject({ reportCount: 0 });
  expect(lab.controlPlane.conductor.bus.serves("devstack1")).toBe(false);
  expect(lab.store.leases.get("devstack1")).toBeNull();
});

scenario("4.8 row 6 an unreachable Placement does not keep a new host from serving", async (lab) => {
  const heal = lab.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.startsWith("http"),
    fault: { kind: "refuse" },
  });
  const run = await lab.start("devstack1", { config: { defaults: { periodic_enable: true } } });
  expect(run.agent.state).toBe("serving");
  expect(await lab.providers()).toEqual([]);
  heal();
  await lab.world.advance(130_000);
  expect(await lab.providers()).toEqual(["devstack1"]);
});

scenario("2.1 row 6 casts reach the operations, with their request id in the log", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  const run = await lab.start("devstack1");
  const { bus } = lab.controlPlane.conductor;
  bus.cast("devstack1", "terminate_instance", { instanceUuid: VM, requestId: "req-a" }, "req-a");
  bus.cast("devstack1", "reboot_instance", { instanceUuid: VM, type: "HARD", requestId: "req-b" }, "req-b");
  await lab.world.advance(1_000);
  expect(run.operations).toEqual([`terminate ${VM}`, `reboot HARD ${VM}`]);
  const logged = run.runtime.logs.filter(({ fields }) => fields.request_id === "req-b");
  expect(logged.map(({ level }) => level)).toEqual(["debug", "info"]);
  expect(logged.at(-1)?.message).toBe("reboot_instance has ended");
});

scenario("2.5 row 4 set_host_enabled: the trait follows, and the answer says what it is", async (lab) => {
  await lab.seed("devstack1");
  await lab.start("devstack1");
  const { bus } = lab.controlPlane.conductor;
  const call = (enabled: boolean) =>
    lab.world.runUntil(bus.call("devstack1", "set_host_enabled", { enabled }, { requestId: "req-1" }));
  expect(await call(false)).toBe("disabled");
  expect(await lab.traits("devstack1")).toContain("COMPUTE_STATUS_DISABLED");
  expect(await call(true)).toBe("enabled");
  expect(await lab.traits("devstack1")).not.toContain("COMPUTE_STATUS_DISABLED");
});

scenario("2.4 c a first start is one line of INFO, and no warning", async (lab) => {
  const { runtime } = await lab.start("devstack1");
  expect(runtime.logs.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  expect(runtime.logs.filter(({ message }) => message === "first start: registering a new compute node")).toMatchObject(
    [{ level: "info" }],
  );
});

scenario("2.4 c a host that has a service, and no compute node, is a warning", async (lab) => {
  lab.addService("devstack1");
  await lab.write("/state/devstack1/compute_id", uuidOf(7));
  const { runtime } = await lab.start("devstack1");
  expect(runtime.logs.filter(({ level }) => level === "warn")).toMatchObject([
    {
      message: expect.stringContaining(
        "no compute node is recorded for this hypervisor, although the host has a service",
      ),
    },
  ]);
});
