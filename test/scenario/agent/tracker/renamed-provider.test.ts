import { expect, test } from "vitest";
import { checkProviders } from "../../../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../../../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../../../fixtures/tracker-world.js";

const pass = (agent: TestAgent) => agent.tracker.updateAvailableResource({ startup: false });

test.each([true, false])(
  "4.7 an operator renamed the provider: the pass says what to do, and succeeds once it has its name again (lean_tracking %s)",
  async (leanTracking) => {
    const world = await TrackerWorld.create();
    const config = { compute: { leanTracking } };
    const hypervisor = new StubHypervisor("n1");
    const before = await world.startedAgent("h1", hypervisor, { config });
    const path = `/resource_providers/${before.nodeUuid}`;
    world.placement.ask("PUT", path, { name: "renamed" });
    const agent = await world.startedAgent("h1", hypervisor, { config });
    await pass(agent);
    const expected =
      `resource provider ${agent.nodeUuid} of compute node n1 has the name renamed in Placement, expected n1. ` +
      `To fix it: rename it: openstack resource provider set --name n1 ${agent.nodeUuid}`;
    const errors = world.runtime.logs.filter(({ level }) => level === "error");
    expect(errors.map(({ fields }) => String((fields as { err?: Error }).err?.message))).toEqual([expected, expected]);
    world.placement.ask("PUT", path, { name: "n1" });
    await pass(agent);
    expect(world.logged("error", "could not be updated")).toBe(2);
    await checkProviders(world, agent);
  },
);

test("4.7 an operator renames the provider while the agent runs: lean tracking notices it in the next pass", async () => {
  const world = await TrackerWorld.create();
  const config = { compute: { leanTracking: true } };
  const agent = await world.startedAgent("h1", new StubHypervisor("n1"), { config });
  world.placement.ask("PUT", `/resource_providers/${agent.nodeUuid}`, { name: "renamed" });
  await pass(agent);
  expect(JSON.stringify(world.runtime.logs.map(({ fields }) => String(Object.values(fields ?? {}))))).toContain(
    "has the name renamed in Placement, expected n1",
  );
});
