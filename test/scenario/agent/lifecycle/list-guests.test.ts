import { expect } from "vitest";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const [VM, STRANGER] = [uuidOf(1), uuidOf(2)];

scenario("an agent says what its driver has, by name where the instance is known", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  await lab.allocate(VM, node);
  lab.hypervisor("devstack1").addGuest(VM);
  await lab.start("devstack1");
  lab.hypervisor("devstack1").addGuest(STRANGER);
  const ask = () =>
    lab.world.runUntil(lab.controlPlane.conductor.bus.call("devstack1", "list_guests", {}, { requestId: "req-1" }));
  expect(await ask()).toEqual([
    { uuid: VM, name: "vm-01", state: "running" },
    { uuid: STRANGER, name: STRANGER, state: "unknown" },
  ]);
  lab.hypervisor("devstack1").guests.clear();
  expect(await ask()).toEqual([]);
});
