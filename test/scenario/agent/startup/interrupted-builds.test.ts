import { expect } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

scenario("2.7 building instances that hold allocations here and have no host become errors", async (harness) => {
  const { node } = await harness.seed("devstack1");
  const { node: other } = await harness.seed("devstack2");
  const building = { vmState: "building", taskState: "scheduling" } as const;
  for (const [n, on] of [
    [1, node],
    [2, other],
  ] as const) {
    addInstance(harness.store, uuidOf(n), building);
    await harness.allocate(uuidOf(n), on);
  }
  addInstance(harness.store, uuidOf(3), { vmState: "shelved_offloaded" });
  await harness.allocate(uuidOf(3), node);
  await harness.start("devstack1");
  expect(harness.instance(uuidOf(1))).toMatchObject({ vmState: "error", taskState: null, host: null });
  expect(harness.instance(uuidOf(2))).toMatchObject(building);
  expect(harness.instance(uuidOf(3)).vmState).toBe("shelved_offloaded");
  expect(await harness.held(uuidOf(1))).toEqual({ [node.uuid]: AMOUNTS });
});

scenario("2.7 a node whose allocations cannot be read is skipped", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, uuidOf(1), { vmState: "building", taskState: "scheduling" });
  await harness.allocate(uuidOf(1), node);
  harness.world.network.inject({
    match: ({ url }) => url.endsWith(`/resource_providers/${node.uuid}/allocations`),
    times: 1,
    fault: { kind: "answer", response: { status: 500, headers: {}, body: "" } },
  });
  const run = await harness.start("devstack1");
  expect(run.agent.state).toBe("serving");
  expect(harness.instance(uuidOf(1)).vmState).toBe("building");
});

const OFFLOADED = { vmState: "shelved_offloaded", host: null, launchedOn: null } as const;
const RETRY = { alternates: [], retry: { numAttempts: 1, hosts: [] } };

/**
 * Makes the claim fail, and kills the agent once the allocations are released. @returns the instance after the next
 * start
 */
async function killAfterFailedClaim(
  harness: Harness,
  method: "unshelve_instance" | "build_and_run_instance",
  record: Partial<Instance>,
  more: object = {},
): Promise<Instance> {
  const { node } = await harness.seed("devstack1");
  const vm = uuidOf(1);
  const run = await harness.start("devstack1", { operations: "real" });
  addInstance(harness.store, vm, record);
  await harness.allocate(vm, node);
  harness.afterPlacement = (_host, request) => {
    if (request.startsWith("DELETE /allocations")) {
      harness.kill(run);
    }
  };
  const allocations = { [node.uuid]: { resources: AMOUNTS } };
  // The host has no such node, so that the claim fails.
  const message = { instanceUuid: vm, allocations, node: "gone", requestId: "req-vm", ...more };
  harness.controlPlane.conductor.bus.cast("devstack1", method, message, "req-vm");
  await harness.world.runUntil(() => !run.runtime.alive);
  expect(harness.instance(vm)).toMatchObject({ vmState: record.vmState, taskState: expect.any(String), host: null });
  expect(await harness.held(vm)).toEqual({});
  await harness.start("devstack1");
  return harness.instance(vm);
}

scenario("2.7 OPT an unshelve that failed, killed with nothing held any more, is offloaded again", async (harness) => {
  const after = await killAfterFailedClaim(harness, "unshelve_instance", { ...OFFLOADED, taskState: "unshelving" });
  expect(after).toMatchObject({ ...OFFLOADED, taskState: null });
});

scenario(
  "2.7 OPT a build that was to be tried elsewhere, killed with nothing held any more, is in error",
  async (harness) => {
    const building = { vmState: "building", taskState: "scheduling" } as const;
    const after = await killAfterFailedClaim(harness, "build_and_run_instance", building, RETRY);
    expect(after).toMatchObject({ vmState: "error", taskState: null, host: null });
  },
);
