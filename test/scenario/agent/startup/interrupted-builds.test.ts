import { expect } from "vitest";
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
