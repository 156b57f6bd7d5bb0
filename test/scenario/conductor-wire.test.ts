import { describe, expect, test } from "vitest";
import { VirtualWorld } from "../../src/runtime/virtual/index.js";
import { startInProcessConductor } from "../fixtures/in-process-conductor.js";

describe("an agent on the wire", () => {
  test("calls the conductor and reads back what it wrote", async () => {
    const world = new VirtualWorld();
    const { session, store } = await startInProcessConductor(world);
    const devstack1 = await session("devstack1");
    const service = await world.runUntil(
      devstack1.call("service_create", {
        host: "devstack1",
        binary: "nova-compute",
        topic: "compute",
        version: 73,
        enableNewServices: true,
      }),
    );
    expect(service.reportCount).toBe(0);
    const reported = await world.runUntil(devstack1.call("service_report_state", { id: service.id }));
    expect(reported).toMatchObject({ reportCount: 1, lastSeenUp: world.now });
    expect(store.services.list()).toEqual([reported]);
  });
});
