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

scenario("2.8 the source stops: what runs ends first, what waits is cancelled", async (lab) => {
  const { source } = await new LiveHypervisors(lab).start();
  const running = await chosen(lab);
  const waiting = await chosen(lab, "split", uuidOf(2));
  castLive(running);
  castLive(waiting);
  await reached(running, "running");
  await lab.stop(source);
  expect(statusOf(running)).toBe("completed");
  expect(await heldBy(running)).toEqual(arrived(running));
  expect(statusOf(waiting)).toBe("cancelled");
  expect(lab.instance(waiting.uuid)).toMatchObject({ host: "devstack1", vmState: "active", taskState: null });
  expect(await heldBy(waiting)).toEqual(stayed(waiting));
});

scenario("2.8 the destination stops: it waits for the guest that is on its way, and begins nothing", async (lab) => {
  const { destination } = await new LiveHypervisors(lab).start();
  const move = await chosen(lab);
  castLive(move);
  await reached(move, "running");
  const stopped = destination.agent.stop();
  await lab.world.advance(1_000);
  expect(destination.agent.state).toBe("draining");
  const params = { instanceUuid: VM, requestId: "req-stop" };
  lab.controlPlane.conductor.bus.cast("devstack2", "stop_instance", params, "req-stop");
  await reached(move, "completed");
  await lab.world.runUntil(stopped);
  expect(destination.agent.state).toBe("stopped");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
  expect(lab.hypervisor("devstack2").guests.get(VM)?.power).toBe(1);
  expect(lab.store.messages.pending("devstack2", { after: 0, limit: 9 }).map(({ method }) => method)).toEqual([
    "stop_instance",
  ]);
});
