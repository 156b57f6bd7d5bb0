import { expect, test } from "vitest";
import { evacuated, statusOf, VM } from "../unit/agent/support/evacuated.js";
import { Hypervisor } from "../unit/agent/support/hypervisor.js";
import { Lab, type Run } from "../unit/agent/support/lab.js";
import { AMOUNTS } from "../unit/agent/support/records.js";

const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };

/** Starts it; an agent that gives up is started again, as a supervisor does. */
async function startInTheEnd(lab: Lab): Promise<Run> {
  const run = await lab.launch("devstack1", PERIODIC);
  const failure = await lab.world.runUntil(
    run.agent.start().then(
      () => null,
      (error: Error) => error,
    ),
  );
  if (failure === null) return run;
  run.runtime.kill();
  await lab.world.advance(1_000);
  return lab.start("devstack1", PERIODIC);
}

const MEDDLING: Readonly<Record<string, (lab: Lab) => void | Promise<void>>> = {
  "the row of its node is deleted": (lab) => {
    for (const { id } of lab.store.computeNodes.byHost("devstack1")) lab.store.computeNodes.destroy(id, "devstack1");
  },
  "its provider is deleted": (lab) => lab.removeProvider("devstack1"),
  "an operator edits its traits": (lab) => lab.addTrait("devstack1", "CUSTOM_GOLD"),
  "the clock jumps by more than service_down_time": async (lab) => {
    await lab.world.advance(61_000);
  },
};

for (const [what, meddle] of Object.entries(MEDDLING)) {
  test(`9.4 ${what} before any one step of a start with an evacuation to clean up: right after two passes`, async () => {
    for (let at = 0; ; at += 1) {
      const lab = await Lab.create();
      const evacuation = await evacuated(lab, "done");
      let left = at;
      let struck = false;
      let started = false;
      const step = async (host: string): Promise<void> => {
        left -= host === "devstack1" ? 1 : 0;
        if (left >= 0 || struck || started) return;
        struck = true;
        await meddle(lab);
      };
      lab.beforeCall = step;
      await startInTheEnd(lab);
      started = true;
      await lab.world.advance(130_000);
      expect(lab.hypervisor("devstack1").guests.has(VM), `step ${at}`).toBe(false);
      if (statusOf(lab, evacuation) !== "completed") {
        // Its node was gone when the record was judged (3.1); the next start finds it again.
        expect(statusOf(lab, evacuation)).toBe("done");
        await lab.start("devstack1", { process: "later", config: { quirks: ["no-host-lease"] } });
      }
      expect(statusOf(lab, evacuation), `step ${at}`).toBe("completed");
      expect(lab.store.computeNodes.byHost("devstack1"), `step ${at}`).toMatchObject([{ uuid: evacuation.s.uuid }]);
      expect([...(await lab.providers())].sort(), `step ${at}`).toEqual(["devstack1", "devstack2"]);
      expect(Object.keys(await lab.held(VM)), `step ${at}`).toEqual([evacuation.d.uuid]);
      expect(await lab.traits("devstack1")).toContain("COMPUTE_NODE");
      if (!struck) {
        expect(at).toBeGreaterThan(8);
        return;
      }
    }
  });
}

test("9.4 the driver raises at any one call of a start: nothing is half done after the next", async () => {
  for (let at = 0; ; at += 1) {
    const lab = await Lab.create();
    const evacuation = await evacuated(lab, "done");
    const hypervisor = lab.hypervisor("devstack1");
    let left = at;
    let struck = false;
    const fail = (): Error | undefined => {
      left -= 1;
      if (left >= 0 || struck) return undefined;
      struck = true;
      return new Error("monitor socket closed");
    };
    for (const method of ["initHost", "getAvailableNodes", "listInstanceUuids", "probe", "destroy"]) {
      hypervisor.failures.set(method, fail);
    }
    await startInTheEnd(lab);
    await lab.world.advance(130_000);
    expect(hypervisor.guests.has(VM), `call ${at}`).toBe(false);
    expect(statusOf(lab, evacuation)).toBe("completed");
    expect(await lab.held(VM)).toEqual({ [evacuation.d.uuid]: AMOUNTS });
    expect(await lab.providers()).toContain("devstack1");
    if (!struck) {
      expect(at).toBeGreaterThan(4);
      return;
    }
  }
});

test("9.4 Placement answers no request of a start within its time: the host serves, and is right once it is quick again", async () => {
  const lab = await Lab.create();
  await lab.seed("devstack1");
  const heal = lab.world.network.inject({
    match: ({ from, url }) => from === "agent-devstack1" && url.startsWith("http"),
    fault: { kind: "latency", milliseconds: 3_600_000 },
  });
  const run = await lab.launch("devstack1", PERIODIC);
  const started = run.agent.start();
  await lab.world.advance(600_000);
  expect(run.agent.state).toBe("serving");
  heal();
  await lab.world.runUntil(started);
  await lab.removeProvider("devstack1");
  await lab.world.advance(700_000);
  expect(await lab.providers()).toEqual(["devstack1"]);
});

for (const offset of [0, 1, 3, 5, 8, 12]) {
  test(`9.4 two hosts start on one new hypervisor, the second ${offset} steps later: one serves, or one is told of the other`, async () => {
    const lab = await Lab.create();
    const shared = lab.attach("devstack1", new Hypervisor("devstack1"));
    lab.attach("standby", shared);
    let steps = 0;
    const second: { outcome: Promise<unknown> | null } = { outcome: null };
    const other = await lab.launch("standby", { hypervisor: shared });
    lab.beforeCall = (host) => {
      if (host !== "devstack1") return;
      steps += 1;
      if (steps > offset && second.outcome === null)
        second.outcome = other.agent.start().catch((error: Error) => error);
    };
    const first = await lab.launch("devstack1");
    await lab.world.runUntil(first.agent.start().catch(() => undefined));
    await lab.world.runUntil(second.outcome ?? Promise.resolve());
    const states = [first.agent.state, other.agent.state].sort();
    expect(states).toEqual(["failed", "serving"]);
    expect(lab.store.computeNodes.byHypervisorHostname("devstack1")).toHaveLength(1);
  });
}
