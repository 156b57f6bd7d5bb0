import { expect } from "vitest";
import type { AgentCast } from "../../../../src/conductor-client/methods/agent.js";
import { OLD, placeVm, REQUEST, VM } from "../../../fixtures/cold-moves.js";
import type { Lab } from "../../../unit/agent/support/harness.js";
import { nodeOf } from "../../../unit/agent/support/libvirt-hosts.js";
import { addInstance } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

/** devstack1 was up once; what is asked of it from now on waits for it. */
async function hostIsDown(lab: Lab): Promise<void> {
  const first = await lab.start("devstack1", { operations: "real" });
  await lab.start("devstack2", { operations: "real" });
  lab.kill(first);
}
function send(lab: Lab, method: AgentCast, params: object): void {
  const message = { instanceUuid: VM, requestId: REQUEST, ...params };
  lab.controlPlane.conductor.bus.cast("devstack1", method, message as never, REQUEST);
}
async function isUpAgain(lab: Lab): Promise<void> {
  await lab.start("devstack1", { operations: "real" });
  await lab.world.advance(60_000);
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
    async (lab) => {
      await hostIsDown(lab);
      await placeVm(lab);
      lab.store.instances.save(VM, { taskState: task, taskRequestId: REQUEST });
      send(lab, method, params);
      await isUpAgain(lab);
      expect(lab.store.instances.fault(VM)).toBeNull();
      expect(lab.instance(VM)).toMatchObject({ vmState, taskState: null });
    },
  );
}

scenario("2.6 row 8, OPT the message of a delete waits still: a start does not try it first", async (lab) => {
  await hostIsDown(lab);
  await placeVm(lab);
  lab.store.instances.save(VM, { taskState: "deleting", taskRequestId: REQUEST });
  send(lab, "terminate_instance", {});
  const { failures } = lab.hypervisor("devstack1");
  failures.set("destroy", () => {
    failures.clear();
    return new Error("the domain is stuck");
  });
  await isUpAgain(lab);
  // A server in error may be used again: a delete that is tried once more behind that would take it from its user.
  expect(lab.instance(VM)).toMatchObject({ vmState: "error", taskState: null, deleted: 0 });
});

scenario("2.6 a message of another request waits: what was interrupted is ended as ever", async (lab) => {
  await hostIsDown(lab);
  await placeVm(lab);
  lab.store.instances.save(VM, { taskState: "shelving", taskRequestId: "req-another" });
  send(lab, "shelve_instance", { imageId: VM });
  await isUpAgain(lab);
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", taskState: null });
});

scenario("2.7 OPT the message of a build waits still: it is built", async (lab) => {
  await hostIsDown(lab);
  const node = nodeOf(lab, "devstack1");
  addInstance(lab.store, VM, { vmState: "building", taskState: "scheduling", taskRequestId: REQUEST });
  await lab.hold(VM, { [node.uuid]: OLD });
  const held = { allocations: { [node.uuid]: { resources: OLD } }, node: "devstack1", alternates: [] };
  send(lab, "build_and_run_instance", held);
  await isUpAgain(lab);
  expect(lab.instance(VM)).toMatchObject({ vmState: "active", host: "devstack1" });
});
