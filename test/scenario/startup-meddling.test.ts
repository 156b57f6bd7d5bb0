import { expect, test } from "vitest";
import { Harness } from "../unit/agent/support/harness.js";
import { Hypervisor } from "../unit/agent/support/hypervisor.js";

const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
test("9.4 Placement answers no request of a start within its time: the host serves, and is right once it is quick again", async () => {
  const harness = await Harness.create();
  await harness.seed("devstack1");
  const heal = harness.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.startsWith("http"),
    fault: { kind: "latency", milliseconds: 3_600_000 },
  });
  const run = await harness.launch("devstack1", PERIODIC);
  const started = run.agent.start();
  await harness.world.advance(600_000);
  expect(run.agent.state).toBe("serving");
  heal();
  await harness.world.runUntil(started);
  await harness.removeProvider("devstack1");
  await harness.world.advance(700_000);
  expect(await harness.providers()).toEqual(["devstack1"]);
});

for (const offset of [0, 1, 3, 5, 8, 12]) {
  test(`9.4 two hosts start on one new hypervisor, the second ${offset} steps later: one serves, or one is told of the other`, async () => {
    const harness = await Harness.create();
    const shared = harness.attach("devstack1", new Hypervisor("devstack1"));
    harness.attach("standby", shared);
    let steps = 0;
    const second: { outcome: Promise<unknown> | null } = { outcome: null };
    const other = await harness.launch("standby", { hypervisor: shared });
    harness.beforeCall = (host) => {
      if (host !== "devstack1") {
        return;
      }
      steps += 1;
      if (steps > offset && second.outcome === null) {
        second.outcome = other.agent.start().catch((error: Error) => error);
      }
    };
    const first = await harness.launch("devstack1");
    await harness.world.runUntil(first.agent.start().catch(() => undefined));
    await harness.world.runUntil(second.outcome ?? Promise.resolve());
    const states = [first.agent.state, other.agent.state].sort();
    expect(states).toEqual(["failed", "serving"]);
    expect(harness.store.computeNodes.byHypervisorHostname("devstack1")).toHaveLength(1);
  });
}
