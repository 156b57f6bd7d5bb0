import { expect, test } from "vitest";
import { Harness } from "../../unit/agent/support/harness.js";

test("2.1 a new host registers, tracks its node, serves and sends heartbeats", async () => {
  const harness = await Harness.create();
  const run = await harness.start("devstack1");
  expect(run.states).toEqual([
    "starting",
    "guarding",
    "cleaning",
    "initializing",
    "registering",
    "tracking",
    "serving",
  ]);
  const service = harness.store.services.getByHost("devstack1", "nova-compute");
  expect(service).toMatchObject({ version: 74, reportCount: 0, disabled: false });
  const [node] = harness.store.computeNodes.byHost("devstack1");
  expect((await harness.read("/state/devstack1/compute_id"))?.trim()).toBe(node?.uuid);
  expect(await harness.providers()).toEqual(["devstack1"]);
  await harness.world.advance(5_000);
  expect(harness.store.services.getByHost("devstack1", "nova-compute")?.reportCount).toBe(1);
  await harness.world.advance(20_000);
  expect(harness.store.services.getByHost("devstack1", "nova-compute")?.reportCount).toBe(3);
  await harness.stop(run);
  expect(run.agent.state).toBe("stopped");
});
