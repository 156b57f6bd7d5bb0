import { expect, test } from "vitest";
import { watchConductor } from "../../../../src/agent/operations/flow/error-wrappers.js";
import { InterruptedRequests } from "../../../../src/agent/operations/flow/unfinished-work.js";
import { UNPLACED } from "../../../../src/agent/tracker/contract.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { HostSession } from "../../../../src/conductor-client/port.js";
import type { Instance, InstanceChanges } from "../../../../src/records/index.js";
import { HostEpochOutdated } from "../../../../src/virt/errors.js";
import { FlowStage, REQUEST as OURS } from "../../../unit/agent/support/flow-stage.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);
const REQUEST = "req-1";
const periodic = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };

/** Creates a host whose conductor did not reply during the request. @param values the instance's values since then */
async function interrupted(harness: Harness, values: InstanceChanges) {
  const { node } = await harness.seed("devstack1");
  const requests = new InterruptedRequests();
  await harness.start("devstack1", { ...periodic, operations: { interrupted: requests } });
  addInstance(harness.store, VM, { ...placed(node), ...values });
  await harness.hold(VM, { [node.uuid]: AMOUNTS });
  harness.hypervisor("devstack1").addGuest(VM);
  requests.add({ instanceUuid: VM, requestId: REQUEST });
  await harness.world.advance(120_000);
  return requests;
}

scenario("2.6 OPT what the conductor's silence interrupted is taken up as at a start", async (harness) => {
  const requests = await interrupted(harness, { taskState: "shelving", taskRequestId: REQUEST });
  expect(harness.instance(VM)).toMatchObject({ vmState: "active", taskState: null });
  expect(requests.all).toEqual([]);
});

scenario("2.6 OPT an interrupted build becomes an error", async (harness) => {
  await interrupted(harness, { vmState: "building", taskState: "spawning", taskRequestId: REQUEST });
  expect(harness.instance(VM)).toMatchObject({ vmState: "error", taskState: null });
});

scenario(
  "2.6 OPT a build that was accepted, and has no task_state yet, becomes an error on its host",
  async (harness) => {
    await interrupted(harness, { vmState: "building", taskState: null });
    expect(harness.instance(VM)).toMatchObject({ vmState: "error", host: "devstack1" });
  },
);

scenario("2.6 OPT a build that was accepted, and has no host yet, becomes an error", async (harness) => {
  await interrupted(harness, { vmState: "building", taskState: null, ...UNPLACED });
  expect(harness.instance(VM)).toMatchObject({ vmState: "error", host: null });
});

scenario("2.6 OPT what another request does by now is its own", async (harness) => {
  const requests = await interrupted(harness, { taskState: "shelving", taskRequestId: "req-2" });
  expect(harness.instance(VM).taskState).toBe("shelving");
  expect(requests.all).toEqual([]);
});

scenario("6.2 OPT the row that a delete could not destroy is looked at until it is gone", async (harness) => {
  const { node } = await harness.seed("devstack1");
  const requests = new InterruptedRequests();
  requests.add({ instanceUuid: VM, requestId: REQUEST });
  let attempts = 0;
  const completePartialDeletion = async ({ uuid }: Instance) => {
    attempts += 1;
    if (attempts === 1) {
      throw new Error("no disk");
    }
    harness.store.instances.destroy(uuid);
  };
  await harness.start("devstack1", { ...periodic, operations: { interrupted: requests, completePartialDeletion } });
  addInstance(harness.store, VM, { ...placed(node), vmState: "deleted" });
  await harness.world.advance(70_000);
  expect([attempts, requests.all.length]).toEqual([1, 1]);
  await harness.world.advance(120_000);
  expect([attempts, requests.all.length]).toEqual([2, 0]);
});

scenario("2.6 OPT moves are left to the tasks that look at both of their hosts", async (harness) => {
  await interrupted(harness, { taskState: "resize_migrated", taskRequestId: REQUEST });
  expect(harness.instance(VM).taskState).toBe("resize_migrated");
});

test.each([
  ["a lost lease", "driver.pause", new HostEpochOutdated("another agent")],
  ["a silence that the tracker hears", "tracker.saveInstance", new ConductorError("MessagingTimeout", "no answer")],
])("2.6 OPT what %s interrupts is taken up later", async (_, call, error) => {
  const stage = new FlowStage({ instance: { taskState: "pausing" } });
  stage.replies[call] = error;
  await stage.failure("pause_instance", {});
  expect(stage.operations.interrupted.all).toEqual([{ instanceUuid: "vm", requestId: OURS }]);
});

test("a missing reply of the conductor is reported, even if its error is only logged", async () => {
  let timeouts = 0;
  const errors = [new ConductorError("MessagingTimeout", "no answer"), new Error("refused"), null];
  const conductor = {
    host: "devstack1",
    call: async () => {
      const error = errors.shift();
      if (error) {
        throw error;
      }
      return "answered";
    },
  } as unknown as HostSession;
  const listening = watchConductor(conductor, () => {
    timeouts += 1;
  });
  await listening.call("instance_get", { uuid: VM }).catch(() => undefined);
  expect(timeouts).toBe(1);
  await expect(listening.call("instance_get", { uuid: VM })).rejects.toThrow("refused");
  expect(await listening.call("instance_get", { uuid: VM })).toBe("answered");
  expect([timeouts, listening.host]).toEqual([1, "devstack1"]);
});
