import { expect } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import type { Lab } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

scenario("2.7 building instances that hold allocations here and have no host become errors", async (lab) => {
  const { node } = await lab.seed("devstack1");
  const { node: other } = await lab.seed("devstack2");
  const building = { vmState: "building", taskState: "scheduling" } as const;
  for (const [n, on] of [
    [1, node],
    [2, other],
  ] as const) {
    addInstance(lab.store, uuidOf(n), building);
    await lab.allocate(uuidOf(n), on);
  }
  addInstance(lab.store, uuidOf(3), { vmState: "shelved_offloaded" });
  await lab.allocate(uuidOf(3), node);
  await lab.start("devstack1");
  expect(lab.instance(uuidOf(1))).toMatchObject({ vmState: "error", taskState: null, host: null });
  expect(lab.instance(uuidOf(2))).toMatchObject(building);
  expect(lab.instance(uuidOf(3)).vmState).toBe("shelved_offloaded");
  expect(await lab.held(uuidOf(1))).toEqual({ [node.uuid]: AMOUNTS });
});

scenario("2.7 a node whose allocations cannot be read is skipped", async (lab) => {
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, uuidOf(1), { vmState: "building", taskState: "scheduling" });
  await lab.allocate(uuidOf(1), node);
  lab.world.network.inject({
    match: ({ url }) => url.endsWith(`/resource_providers/${node.uuid}/allocations`),
    times: 1,
    fault: { kind: "answer", response: { status: 500, headers: {}, body: "" } },
  });
  const run = await lab.start("devstack1");
  expect(run.agent.state).toBe("serving");
  expect(lab.instance(uuidOf(1)).vmState).toBe("building");
});

const OFFLOADED = { vmState: "shelved_offloaded", host: null, launchedOn: null } as const;
const RETRY = { alternates: [], retry: { numAttempts: 1, hosts: [] } };

/** Its claim fails, and the agent is killed when nothing is held any more. @returns it after the next start */
async function halfGivenBack(
  lab: Lab,
  method: "unshelve_instance" | "build_and_run_instance",
  record: Partial<Instance>,
  more: object = {},
): Promise<Instance> {
  const { node } = await lab.seed("devstack1");
  const vm = uuidOf(1);
  const run = await lab.start("devstack1", { operations: "real" });
  addInstance(lab.store, vm, record);
  await lab.allocate(vm, node);
  lab.afterPlacement = (_host, request) => {
    if (request.startsWith("DELETE /allocations")) {
      lab.kill(run);
    }
  };
  const allocations = { [node.uuid]: { resources: AMOUNTS } };
  // It has no such node, so that the claim fails.
  const message = { instanceUuid: vm, allocations, node: "gone", requestId: "req-vm", ...more };
  lab.controlPlane.conductor.bus.cast("devstack1", method, message, "req-vm");
  await lab.world.runUntil(() => !run.runtime.alive);
  expect(lab.instance(vm)).toMatchObject({ vmState: record.vmState, taskState: expect.any(String), host: null });
  expect(await lab.held(vm)).toEqual({});
  await lab.start("devstack1");
  return lab.instance(vm);
}

scenario("2.7 OPT an unshelve that failed, killed with nothing held any more, is offloaded again", async (lab) => {
  const after = await halfGivenBack(lab, "unshelve_instance", { ...OFFLOADED, taskState: "unshelving" });
  expect(after).toMatchObject({ ...OFFLOADED, taskState: null });
});

scenario(
  "2.7 OPT a build that was to be tried elsewhere, killed with nothing held any more, is in error",
  async (lab) => {
    const building = { vmState: "building", taskState: "scheduling" } as const;
    const after = await halfGivenBack(lab, "build_and_run_instance", building, RETRY);
    expect(after).toMatchObject({ vmState: "error", taskState: null, host: null });
  },
);
