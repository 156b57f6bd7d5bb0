import { expect } from "vitest";
import { type ColdMove, castPrep, heldBy, NEW, OLD, prepareMove, statusOf, VM } from "../fixtures/cold-moves.js";
import { castLive, chosen, LiveHypervisors, statusOf as liveStatusOf } from "../fixtures/live-migrations.js";
import type { Harness, Run } from "../unit/agent/support/harness.js";
import { scenario } from "../unit/agent/support/scenario.js";

interface Moving {
  readonly move: ColdMove;
  readonly destination: Run;
  /** Resolves the source's write after it has moved the disks, or rejects it. */
  readonly goOn: (failure?: Error) => void;
}

/** Creates a resize that the destination has prepared, and whose source moves the disks until `goOn` is called. */
async function moving(harness: Harness): Promise<Moving> {
  await harness.start("devstack1", { operations: "real" });
  const destination = await harness.start("devstack2", { operations: "real" });
  let goOn: Moving["goOn"] = () => {};
  const moved = new Promise<void>((resolve, reject) => {
    goOn = (failure) => (failure ? reject(failure) : resolve());
  });
  harness.beforeCall = (host, method) =>
    host === "devstack1" && method === "save_together" && harness.instance(VM).taskState === "resize_migrating"
      ? moved
      : undefined;
  const move = await prepareMove(harness);
  castPrep(move);
  await harness.world.runUntil(() => statusOf(move) === "migrating");
  await harness.world.advance(1_000);
  return { move, destination, goOn };
}

/** Begins to stop a destination, which then waits. */
async function stop(harness: Harness, { agent }: Run): Promise<void> {
  void agent.stop();
  await harness.world.advance(30_000);
  expect(agent.state).toBe("draining");
}

scenario("2.8 the destination of a resize stops: it waits for the disks, and finishes", async (harness) => {
  const { move, destination, goOn } = await moving(harness);
  await stop(harness, destination);
  goOn();
  await harness.world.advance(1_000);
  expect(destination.agent.state).toBe("stopped");
  expect(statusOf(move)).toBe("finished");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "resized", taskState: null });
  expect(await heldBy(move)).toEqual({ instance: { [move.d.uuid]: NEW }, migration: { [move.s.uuid]: OLD } });
});

scenario("2.8 the destination of a resize waits no longer than for the source's failure", async (harness) => {
  const { move, destination, goOn } = await moving(harness);
  await stop(harness, destination);
  harness.beforeCall = () => {};
  goOn(new Error("the disks could not be moved"));
  await harness.world.advance(1_000);
  expect(statusOf(move)).toBe("error");
  expect(destination.agent.state).toBe("stopped");
});

scenario("2.8 the destination of a resize waits no longer than for the delete of its server", async (harness) => {
  const { destination } = await moving(harness);
  await stop(harness, destination);
  harness.store.instances.destroy(VM);
  await harness.world.advance(100);
  expect(destination.agent.state).toBe("stopped");
});

scenario("2.8 a resize that ended while its destination could not be told is not waited for", async (harness) => {
  const { move, destination } = await moving(harness);
  harness.controlPlane.kill();
  harness.store.migrations.save(move.migration.id, { status: "error" });
  await harness.controlPlane.restart();
  await harness.world.advance(5_000);
  void destination.agent.stop();
  await harness.world.advance(100);
  expect(destination.agent.state).toBe("stopped");
});

scenario(
  "2.8 a resize that never comes is waited for until manager_shutdown_timeout, less the reserve",
  async (harness) => {
    const { destination } = await moving(harness);
    await stop(harness, destination);
    await harness.world.advance(105_000);
    expect(destination.agent.state).toBe("draining");
    await harness.world.advance(10_000);
    expect(destination.agent.state).toBe("stopped");
  },
);

scenario(
  "2.8 the destination of a live migration whose source died waits no longer than for its end",
  async (harness) => {
    const live = new LiveHypervisors(harness);
    live.plan.seconds = 600;
    const { source, destination } = await live.start();
    const move = await chosen(harness);
    castLive(move);
    await harness.world.runUntil(() => liveStatusOf(move) === "running");
    harness.kill(source);
    await stop(harness, destination);
    harness.store.migrations.save(move.migration.id, { status: "error" });
    await harness.world.advance(100);
    expect(destination.agent.state).toBe("stopped");
  },
);

scenario("2.8 a destination that stops while it prepares a resize finishes that resize", async (harness) => {
  await harness.start("devstack1", { operations: "real" });
  const destination = await harness.start("devstack2", { operations: "real" });
  harness.beforeCall = (host, method) => {
    if (host !== "devstack2" || method !== "save_together") {
      return;
    }
    harness.beforeCall = () => {};
    void destination.agent.stop();
  };
  const move = await prepareMove(harness);
  castPrep(move);
  await harness.world.advance(5_000);
  expect(destination.agent.state).toBe("stopped");
  expect(statusOf(move)).toBe("finished");
});
