import { beforeEach, describe, expect, it } from "vitest";
import type { Instance } from "../../../../../src/records/index.js";
import { ConductorBench } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

describe("6.2 delete", () => {
  let bench: ConductorBench;
  let instance: Instance;

  beforeEach(async () => {
    bench = await ConductorBench.open();
    await bench.host("devstack1");
    instance = await bench.server("devstack1");
    bench.store.instances.save(instance.uuid, { taskState: "deleting" });
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
  });

  const remove = (instanceUuid = instance.uuid) =>
    bench.run({ kind: "delete_local", instanceUuid, requestId: "req-delete" });
  const unplace = () =>
    bench.store.instances.save(instance.uuid, { host: null, node: null, computeId: null, vmState: "error" });

  it("local delete: the allocations are deleted by force, then the row", async () => {
    await remove();
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(bench.store.instances.get(instance.uuid)).toBeNull();
    expect(bench.instance(instance.uuid)).toMatchObject({ vmState: "deleted", taskState: null, host: "devstack1" });
    expect(bench.instance(instance.uuid).terminatedAt).not.toBeNull();
    expect(bench.store.mappings.instance(instance.uuid)?.queuedForDelete).toBe(true);
    expect(bench.placementBench.requests()[0]).toBe(`DELETE /allocations/${instance.uuid}`);
    expect(bench.casts).toEqual([]);
  });

  it("Placement unreachable: the row is deleted, the allocation leaks with a warning", async () => {
    bench.placementBench.inject({ on: "DELETE /allocations", does: "refuse" });
    await remove();
    expect(bench.store.instances.get(instance.uuid)).toBeNull();
    expect(Object.keys(await bench.held(instance.uuid))).toEqual(["devstack1"]);
    expect(bench.placementBench.logs.some(({ message }) => message.includes("leaks"))).toBe(true);
  });

  it("AllocationDeleteFailed: vm error with the fault, the row stays, and the delete can be repeated", async () => {
    bench.placementBench.inject({ on: "DELETE /allocations", does: errorResponse(500, "", "oops") });
    await remove();
    expect(bench.instance(instance.uuid)).toMatchObject({ vmState: "error", taskState: null, deleted: 0 });
    expect(bench.store.instances.fault(instance.uuid)?.message).toContain("oops");
    await remove();
    expect(bench.store.instances.get(instance.uuid)).toBeNull();
  });

  it("no host: the row and the allocations of a failed build are deleted", async () => {
    unplace();
    await remove();
    expect(bench.store.instances.get(instance.uuid)).toBeNull();
    expect(await bench.held(instance.uuid)).toEqual({});
  });

  it("bug 1914777 no host, but an agent claimed it meanwhile: its agent deletes it", async () => {
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: false });
    const { node, computeId } = instance;
    unplace();
    bench.placementBench.inject({
      on: "DELETE /allocations",
      does: () => {
        bench.store.instances.save(instance.uuid, { host: "devstack1", node, computeId });
      },
    });
    await remove();
    expect(bench.casts).toMatchObject([{ host: "devstack1", method: "terminate_instance" }]);
    expect(bench.store.instances.get(instance.uuid)).not.toBeNull();
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("never built: the build request is deleted, and a second run does nothing", async () => {
    const uuid = bench.request();
    bench.store.tasks.finish(bench.store.tasks.pending()[0]?.id ?? 0);
    await remove(uuid);
    expect(bench.store.requests.buildRequest(uuid)).toBeNull();
    await remove(uuid);
    await remove("99999999-0000-4000-8000-000000000000");
    expect(bench.store.tasks.pending()).toEqual([]);
  });
});
