import { expect, test } from "vitest";
import { Lab } from "../../unit/agent/support/harness.js";

test("2.1 a new host registers, tracks its node, serves and sends heartbeats", async () => {
  const lab = await Lab.create();
  const run = await lab.start("devstack1");
  expect(run.states).toEqual([
    "starting",
    "guarding",
    "cleaning",
    "initializing",
    "registering",
    "tracking",
    "serving",
  ]);
  const service = lab.store.services.getByHost("devstack1", "nova-compute");
  expect(service).toMatchObject({ version: 74, reportCount: 0, disabled: false });
  const [node] = lab.store.computeNodes.byHost("devstack1");
  expect((await lab.read("/state/devstack1/compute_id"))?.trim()).toBe(node?.uuid);
  expect(await lab.providers()).toEqual(["devstack1"]);
  await lab.world.advance(5_000);
  expect(lab.store.services.getByHost("devstack1", "nova-compute")?.reportCount).toBe(1);
  await lab.world.advance(20_000);
  expect(lab.store.services.getByHost("devstack1", "nova-compute")?.reportCount).toBe(3);
  await lab.stop(run);
  expect(run.agent.state).toBe("stopped");
});
