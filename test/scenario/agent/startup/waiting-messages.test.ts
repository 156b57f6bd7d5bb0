import { expect } from "vitest";
import type { AgentCast } from "../../../../src/conductor-client/methods/agent.js";
import { OLD, placeVm, REQUEST, VM } from "../../../fixtures/cold-moves.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { nodeOf } from "../../../unit/agent/support/libvirt-hosts.js";
import { addInstance } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

/** Starts and kills devstack1: later messages to it are queued. */
async function hostIsDown(harness: Harness): Promise<void> {
  const first = await harness.start("devstack1", { operations: "real" });
  await harness.start("devstack2", { operations: "real" });
  harness.kill(first);
}
function send(harness: Harness, method: AgentCast, params: object): void {
  const message = { instanceUuid: VM, requestId: REQUEST, ...params };
  harness.controlPlane.conductor.bus.cast("devstack1", method, message as never, REQUEST);
}
async function isUpAgain(harness: Harness): Promise<void> {
  await harness.start("devstack1", { operations: "real" });
  await harness.world.advance(60_000);
}
const rebuild = { migrationId: null, onSharedStorage: null, node: "devstack1", imageRef: VM, targetStopped: false };

for (const [row, method, task, params, vmState] of [
  ["interrupted shelve", "shelve_instance", "shelving", { imageId: VM }, "shelved_offloaded"],
  ["interrupted rescue", "rescue_instance", "rescuing", {}, "rescued"],
  ["finished but not recorded", "pause_instance", "pausing", {}, "paused"],
  ["5", "rebuild_instance", "rebuilding", { ...rebuild, recreate: false }, "active"],
] as const) {
  scenario(
    `2.6 row ${row}, OPT its message waits still: nothing was interrupted, and it is ${vmState}`,
    async (harness) => {
      await hostIsDown(harness);
      await placeVm(harness);
      harness.store.instances.save(VM, { taskState: task, taskRequestId: REQUEST });
      send(harness, method, params);
      await isUpAgain(harness);
      expect(harness.store.instances.fault(VM)).toBeNull();
      expect(harness.instance(VM)).toMatchObject({ vmState, taskState: null });
    },
  );
}

scenario("2.6 row 8, OPT the message of a delete waits still: a start does not try it first", async (harness) => {
  await hostIsDown(harness);
  await placeVm(harness);
  harness.store.instances.save(VM, { taskState: "deleting", taskRequestId: REQUEST });
  send(harness, "terminate_instance", {});
  const { failures } = harness.hypervisor("devstack1");
  failures.set("destroy", () => {
    failures.clear();
    return new Error("the domain is stuck");
  });
  await isUpAgain(harness);
  // A server in error may be used again: repeating the delete later would take it from its user.
  expect(harness.instance(VM)).toMatchObject({ vmState: "error", taskState: null, deleted: 0 });
});

scenario(
  "2.6 a queued message of another request does not prevent the recovery of an interrupted operation",
  async (harness) => {
    await hostIsDown(harness);
    await placeVm(harness);
    harness.store.instances.save(VM, { taskState: "shelving", taskRequestId: "req-another" });
    send(harness, "shelve_instance", { imageId: VM });
    await isUpAgain(harness);
    expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null });
  },
);

scenario("2.7 OPT the message of a build waits still: it is built", async (harness) => {
  await hostIsDown(harness);
  const node = nodeOf(harness, "devstack1");
  addInstance(harness.store, VM, { vmState: "building", taskState: "scheduling", taskRequestId: REQUEST });
  await harness.hold(VM, { [node.uuid]: OLD });
  const held = { allocations: { [node.uuid]: { resources: OLD } }, node: "devstack1", alternates: [] };
  send(harness, "build_and_run_instance", held);
  await isUpAgain(harness);
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", host: "devstack1" });
});
