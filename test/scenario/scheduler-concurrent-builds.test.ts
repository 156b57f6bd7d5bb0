import { describe, expect, it } from "vitest";
import { ConductorBench } from "../unit/control-plane/conductor/tasks/bench.js";

describe("many builds at a time", () => {
  it("V17 as many as fit are built, each on one host; the others end in cell0 and hold nothing", async () => {
    const bench = await ConductorBench.open();
    for (const host of ["devstack1", "devstack2", "devstack3"]) {
      await bench.host(host, { vcpus: 5 });
    }
    const uuids = Array.from({ length: 20 }, () => bench.request());
    await bench.run();

    const built = bench.casts.map(
      ({ host, params }) => [(params as { instanceUuid: string }).instanceUuid, host] as const,
    );
    expect(built).toHaveLength(15);
    for (const [uuid, host] of built) {
      expect(Object.keys(await bench.held(uuid))).toEqual([host]);
    }
    for (const host of ["devstack1", "devstack2", "devstack3"]) {
      expect(built.filter(([, on]) => on === host)).toHaveLength(5);
    }

    const rejectedUuids = uuids.filter((uuid) => !built.some(([placed]) => placed === uuid));
    for (const uuid of rejectedUuids) {
      expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null, host: null });
      expect(await bench.held(uuid)).toEqual({});
    }
    expect(bench.store.tasks.pending()).toEqual([]);
  });
});
