import { expect } from "vitest";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const [VM, UNKNOWN_GUEST] = [uuidOf(1), uuidOf(2)];

scenario("an agent says what its driver has, by name where the instance is known", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  await harness.allocate(VM, node);
  harness.hypervisor("devstack1").addGuest(VM);
  await harness.start("devstack1");
  harness.hypervisor("devstack1").addGuest(UNKNOWN_GUEST);
  const ask = () =>
    harness.world.runUntil(
      harness.controlPlane.conductor.bus.call("devstack1", "list_guests", {}, { requestId: "req-1" }),
    );
  expect(await ask()).toEqual([
    { uuid: VM, name: "vm-01", state: "running" },
    { uuid: UNKNOWN_GUEST, name: UNKNOWN_GUEST, state: "unknown" },
  ]);
  harness.hypervisor("devstack1").guests.clear();
  expect(await ask()).toEqual([]);
});
