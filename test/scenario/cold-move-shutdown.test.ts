import { expect } from "vitest";
import { type ColdMove, castPrep, heldBy, NEW, OLD, prepareMove, statusOf, VM } from "../fixtures/cold-moves.js";
import { castLive, chosen, LiveHypervisors, statusOf as liveStatusOf } from "../fixtures/live-migrations.js";
import type { Lab, Run } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

interface Moving {
  readonly move: ColdMove;
  readonly destination: Run;
  /** The source, which has the disks moved, is answered this when it writes so. */
  readonly goOn: (failure?: Error) => void;
}

/** A resize that the destination has prepared, and whose source moves the disks until it is told to go on. */
async function moving(lab: Lab): Promise<Moving> {
  await lab.start("devstack1", { operations: "real" });
  const destination = await lab.start("devstack2", { operations: "real" });
  let goOn: Moving["goOn"] = () => {};
  const moved = new Promise<void>((resolve, reject) => {
    goOn = (failure) => (failure ? reject(failure) : resolve());
  });
  lab.beforeCall = (host, method) =>
    host === "devstack1" && method === "save_together" && lab.instance(VM).taskState === "resize_migrating"
      ? moved
      : undefined;
  const move = await prepareMove(lab);
  castPrep(move);
  await lab.world.runUntil(() => statusOf(move) === "migrating");
  await lab.world.advance(1_000);
  return { move, destination, goOn };
}

/** Begins to stop a destination, which then waits. */
async function stop(lab: Lab, { agent }: Run): Promise<void> {
  void agent.stop();
  await lab.world.advance(30_000);
  expect(agent.state).toBe("draining");
}

scenario("2.8 the destination of a resize stops: it waits for the disks, and finishes", async (lab) => {
  const { move, destination, goOn } = await moving(lab);
  await stop(lab, destination);
  goOn();
  await lab.world.advance(1_000);
  expect(destination.agent.state).toBe("stopped");
  expect(statusOf(move)).toBe("finished");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "resized", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: { [move.s.uuid]: OLD } });
});

scenario("2.8 the destination of a resize waits no longer than for the source's failure", async (lab) => {
  const { move, destination, goOn } = await moving(lab);
  await stop(lab, destination);
  lab.beforeCall = () => {};
  goOn(new Error("the disks could not be moved"));
  await lab.world.advance(1_000);
  expect(statusOf(move)).toBe("error");
  expect(destination.agent.state).toBe("stopped");
});

scenario("2.8 the destination of a resize waits no longer than for the delete of its server", async (lab) => {
  const { destination } = await moving(lab);
  await stop(lab, destination);
  lab.store.instances.destroy(VM);
  await lab.world.advance(100);
  expect(destination.agent.state).toBe("stopped");
});

scenario("2.8 a resize that ended while its destination could not be told is not waited for", async (lab) => {
  const { move, destination } = await moving(lab);
  lab.controlPlane.kill();
  lab.store.migrations.save(move.migration.id, { status: "error" });
  await lab.controlPlane.restart();
  await lab.world.advance(5_000);
  void destination.agent.stop();
  await lab.world.advance(100);
  expect(destination.agent.state).toBe("stopped");
});

scenario(
  "2.8 a resize that never comes is waited for until manager_shutdown_timeout, less the reserve",
  async (lab) => {
    const { destination } = await moving(lab);
    await stop(lab, destination);
    await lab.world.advance(105_000);
    expect(destination.agent.state).toBe("draining");
    await lab.world.advance(10_000);
    expect(destination.agent.state).toBe("stopped");
  },
);

scenario("2.8 the destination of a live migration whose source died waits no longer than for its end", async (lab) => {
  const live = new LiveHypervisors(lab);
  live.plan.seconds = 600;
  const { source, destination } = await live.start();
  const move = await chosen(lab);
  castLive(move);
  await lab.world.runUntil(() => liveStatusOf(move) === "running");
  lab.kill(source);
  await stop(lab, destination);
  lab.store.migrations.save(move.migration.id, { status: "error" });
  await lab.world.advance(100);
  expect(destination.agent.state).toBe("stopped");
});

scenario("2.8 a destination that stops while it prepares a resize finishes that resize", async (lab) => {
  await lab.start("devstack1", { operations: "real" });
  const destination = await lab.start("devstack2", { operations: "real" });
  lab.beforeCall = (host, method) => {
    if (host !== "devstack2" || method !== "save_together") {
      return;
    }
    lab.beforeCall = () => {};
    void destination.agent.stop();
  };
  const move = await prepareMove(lab);
  castPrep(move);
  await lab.world.advance(5_000);
  expect(destination.agent.state).toBe("stopped");
  expect(statusOf(move)).toBe("finished");
});
