import { expect, test } from "vitest";
import { evacuated, statusOf, VM } from "../unit/agent/support/evacuated.js";
import { Harness } from "../unit/agent/support/harness.js";
import { AMOUNTS } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

for (const outage of [2_000, 20_000]) {
  test(`9.4 the control plane killed at any step of a start, back after ${outage / 1000} s: the agent serves in the end`, async () => {
    let steps = 0;
    for (let at = 0; ; at += 1) {
      const harness = await Harness.create();
      const evacuation = await evacuated(harness, "done");
      let left = at;
      let struck = false;
      harness.afterCall = async (host) => {
        left -= host === "devstack1" ? 1 : 0;
        if (left < 0 && !struck) {
          struck = true;
          harness.controlPlane.kill();
          // No notification; an external supervisor restarts it.
          void harness.world
            .spawn()
            .timers.sleep(outage)
            .then(() => harness.controlPlane.restart());
        }
      };
      const run = await harness.launch("devstack1");
      const failure = await harness.world.runUntil(
        run.agent.start().then(
          () => null,
          (error: Error) => error,
        ),
      );
      if (failure) {
        // After its lease has expired the agent must exit; a supervisor restarts it.
        expect(failure.name).toBe("HostLeaseLost");
        run.runtime.kill();
        await harness.world.advance(outage);
        await harness.start("devstack1");
      }
      await harness.world.advance(30_000);
      expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(false);
      expect(await harness.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
      expect(statusOf(harness, evacuation)).toBe("completed");
      expect(harness.store.services.getByHost("devstack1", "nova-compute")?.reportCount).toBeGreaterThan(0);
      if (!struck) {
        break;
      }
      steps += 1;
    }
    expect(steps).toBeGreaterThan(8);
  });
}

scenario("9.4 S restarted with an empty disk: the host is refused, and told how to mend it", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.remove("/state/devstack1/compute_id");
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection.code).toBe("identity-lost");
  await harness.write("/state/devstack1/compute_id", node.uuid);
  expect((await harness.start("devstack1")).agent.state).toBe("serving");
});

scenario("9.4 a driver that hangs in destroy ends the start with its name and the time", async (harness) => {
  await evacuated(harness, "done");
  harness.hypervisor("devstack1").hang = "destroy";
  const error = await harness.failure("devstack1");
  expect(error.message).toContain("destroy");
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(true);
});

scenario("9.4 the node's row deleted while the agent runs comes back", async (harness) => {
  const { node } = await harness.seed("devstack1");
  await harness.start("devstack1", { config: { defaults: { periodic_enable: true } } });
  harness.store.computeNodes.destroy(node.id, "devstack1");
  await harness.world.advance(200_000);
  expect(harness.store.computeNodes.byHost("devstack1")).toMatchObject([{ uuid: node.uuid, deleted: 0 }]);
});

test("2.1 row 2 an agent whose control plane comes after an hour has waited, and serves", async () => {
  const harness = await Harness.create();
  const run = await harness.launch("devstack1");
  harness.controlPlane.kill();
  const started = run.agent.start();
  await harness.world.advance(3_600_000);
  expect(run.agent.state).toBe("connecting");
  await harness.controlPlane.restart();
  await harness.world.runUntil(started);
  expect(run.agent.state).toBe("serving");
});

test("2.1 row 2 an agent that is stopped while it waits for a control plane ends at once", async () => {
  const harness = await Harness.create();
  const run = await harness.launch("devstack1");
  harness.controlPlane.kill();
  const ended = run.agent.start().catch((error: Error) => error.name);
  await harness.world.advance(120_000);
  await harness.world.runUntil(run.agent.stop());
  expect(await ended).toBe("AgentStopped");
});
