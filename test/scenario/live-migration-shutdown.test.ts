import { expect } from "vitest";
import {
  arrived,
  castLive,
  chosen,
  heldBy,
  LiveHypervisors,
  reached,
  statusOf,
  stayed,
  VM,
} from "../fixtures/live-migrations.js";
import { uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

scenario("2.8 the source stops: what runs ends first, what waits is cancelled", async (harness) => {
  const { source } = await new LiveHypervisors(harness).start();
  const running = await chosen(harness);
  const waiting = await chosen(harness, "split", uuidOf(2));
  castLive(running);
  castLive(waiting);
  await reached(running, "running");
  await harness.stop(source);
  expect(statusOf(running)).toBe("completed");
  expect(await heldBy(running)).toEqual(arrived(running));
  expect(statusOf(waiting)).toBe("cancelled");
  expect(harness.instance(waiting.uuid)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(await heldBy(waiting)).toEqual(stayed(waiting));
});

scenario(
  "2.8 the destination stops: it waits for the guest that is on its way, and begins nothing",
  async (harness) => {
    const { destination } = await new LiveHypervisors(harness).start();
    const move = await chosen(harness);
    castLive(move);
    await reached(move, "running");
    const stopped = destination.agent.stop();
    await harness.world.advance(1_000);
    expect(destination.agent.state).toBe("draining");
    const params = { instanceUuid: VM, requestId: "req-stop" };
    harness.controlPlane.conductor.bus.cast("devstack2", "stop_instance", params, "req-stop");
    await reached(move, "completed");
    await harness.world.runUntil(stopped);
    expect(destination.agent.state).toBe("stopped");
    expect(harness.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    expect(harness.hypervisor("devstack2").guests.get(VM)?.power).toBe(1);
    expect(harness.store.messages.pending("devstack2", { after: 0, limit: 9 }).map(({ method }) => method)).toEqual([
      "stop_instance",
    ]);
  },
);
