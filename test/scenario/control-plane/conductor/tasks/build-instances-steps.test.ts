import { describe, expect, it } from "vitest";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { Selection } from "../../../../../src/records/index.js";
import { ConductorBench, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { FULL } from "../../../../unit/placement-client/bench.js";

type BuildTask = Extract<Task, { kind: "build_instances" }>;

/** Creates a build request whose task has not run yet. */
async function requested(
  options: { readonly hosts?: readonly string[]; readonly zone?: string; readonly task?: Partial<BuildTask> } = {},
): Promise<{ readonly bench: ConductorBench; readonly task: BuildTask }> {
  const bench = await ConductorBench.open();
  for (const host of options.hosts ?? ["devstack1"]) {
    await bench.host(host);
  }
  const instanceUuid = bench.request();
  for (const { id } of bench.store.tasks.pending()) {
    bench.store.tasks.finish(id);
  }
  return { bench, task: { kind: "build_instances", instanceUuid, requestId: "req-1", ...options.task } };
}

function actionsOf(bench: ConductorBench, uuid: string) {
  return bench.store.actions
    .list(uuid)
    .map(({ action, requestId, userId, projectId }) => [action, requestId, userId, projectId]);
}

describe("6.1 rows 2 and 3, step by step", () => {
  it("claims, then writes instance, mapping, action and message in one transaction", async () => {
    const { bench, task } = await requested();
    const lines = await stepsOf(bench, task);
    expect(lines.map(([what]) => what)).toEqual([
      "GET /allocation_candidates",
      "GET /allocations/I",
      "PUT /allocations/I",
      "cast build_and_run_instance of devstack1",
      "instance",
      "build request gone",
      "mapping",
    ]);
    expect(lines).toContainEqual([
      "cast build_and_run_instance of devstack1",
      {
        instanceUuid: "I",
        allocations: { devstack1: { resources: NEED } },
        node: "devstack1",
        alternates: [],
        retry: { numAttempts: 1, hosts: [["devstack1", "devstack1"]] },
        requestId: "req-1",
      },
    ]);
    expect(outcome(lines)).toMatchObject({
      instance: { vmState: "building", taskState: "scheduling", taskRequestId: "req-1", availabilityZone: "nova" },
      mapping: { cell: "cell1" },
    });
    expect(actionsOf(bench, task.instanceUuid)).toEqual([["create", "req-1", "user", "project"]]);
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("the instance has the requested attributes and no host", async () => {
    const { bench, task } = await requested();
    const request = bench.store.requests.buildRequest(task.instanceUuid) ?? expect.fail("no build request");
    const {
      id: _id,
      createdAt: _createdAt,
      taskRequestId: _request,
      availabilityZone: _zone,
      ...expected
    } = request.instance;
    await stepsOf(bench, task);
    expect(bench.instance(task.instanceUuid)).toMatchObject({ ...expected, host: null, node: null, computeId: null });
    expect(bench.instance(task.instanceUuid).id).toBeGreaterThan(0);
  });

  it.each<[Partial<BuildTask>, boolean]>([
    [{ forcedHost: "devstack2" }, true],
    [{ forcedNode: "devstack2" }, true],
    [{ requestedHost: "devstack2" }, false],
    [{ requestedNode: "devstack2" }, false],
  ])("%j: only a forced host is used although it is disabled, and cannot reschedule", async (where, isForced) => {
    const { bench, task } = await requested({ hosts: ["devstack1", "devstack2"], task: where });
    const lines = await stepsOf(bench, task);
    expect(bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(Object.hasOwn(bench.casts[0]?.params ?? {}, "retry")).toBe(!isForced);
    expect(getExternalCalls(lines)[0]).toBe("GET /allocation_candidates");
    const other = await requested({ hosts: ["devstack1", "devstack2"], task: where });
    other.bench.store.services.update(other.bench.service("devstack2").id, { disabled: true });
    await stepsOf(other.bench, other.task);
    expect(other.bench.casts).toHaveLength(isForced ? 1 : 0);
  });
});

describe("6.1 row 2 fails: cell0", () => {
  it("no host: the claim is deleted, and the instance is created in error without a host, with the reason as its fault", async () => {
    const { bench, task } = await requested({ hosts: [] });
    const lines = await stepsOf(bench, task);
    const why = "No valid host was found. There are not enough hosts available.";
    expect(getExternalCalls(lines)).toEqual(["GET /allocation_candidates", "DELETE /allocations/I -> 404"]);
    expect(outcome(lines)).toEqual({
      instance: expect.objectContaining({ vmState: "error" }),
      "build request gone": true,
      mapping: { cell: "cell0" },
      fault: { code: 500, message: why, host: "conductor" },
      events: [`conductor_schedule_and_build_instances on conductor: Error (${why})`],
    });
    expect(bench.instance(task.instanceUuid)).toMatchObject({ taskState: null, taskRequestId: null, host: null });
    expect(actionsOf(bench, task.instanceUuid)).toEqual([["create", "req-1", "user", "project"]]);
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("the request spec is missing: the instance is created in error", async () => {
    const { bench, task } = await requested();
    bench.store.database.run("DELETE FROM request_specs");
    const lines = await stepsOf(bench, task);
    expect(getExternalCalls(lines)).toEqual(["DELETE /allocations/I -> 404"]);
    expect(outcome(lines).fault).toMatchObject({
      message: "the request spec of instance I is gone; create the server again",
    });
  });

  it("the user deletes the build request meanwhile: no instance is created", async () => {
    const { bench, task } = await requested({ hosts: [] });
    const does = () => void bench.store.requests.destroyBuildRequest(task.instanceUuid);
    bench.placementBench.inject({ on: "DELETE /allocations", does });
    expect(outcome(await stepsOf(bench, task))).toEqual({ "build request gone": true });
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("an unexpected error while the claim is deleted: the instance is created in error", async () => {
    const { bench, task } = await requested({ hosts: [] });
    const does = () => Promise.reject(new TypeError("unforeseen"));
    bench.placementBench.inject({ on: "DELETE /allocations", does });
    expect(outcome(await stepsOf(bench, task))).toMatchObject({
      instance: { vmState: "error" },
      mapping: { cell: "cell0" },
      fault: { message: "TypeError" },
    });
    expect(bench.store.tasks.pending()).toEqual([]);
  });
});

describe("a build that was deleted or handed over", () => {
  it("deleted before the task runs: the claim of a killed run is deleted by force", async () => {
    const { bench, task } = await requested();
    bench.store.requests.destroyBuildRequest(task.instanceUuid);
    expect(getExternalCalls(await stepsOf(bench, task))).toEqual(["DELETE /allocations/I -> 404"]);
  });

  it("handed over before: no request is sent, and nothing is deleted", async () => {
    const { bench, task } = await requested();
    await stepsOf(bench, task);
    expect(await stepsOf(bench, task)).toEqual([]);
  });

  it("deleted during the claim: the claim is deleted by force", async () => {
    const { bench, task } = await requested();
    const does = () => void bench.store.requests.destroyBuildRequest(task.instanceUuid);
    bench.placementBench.inject({ on: "PUT /allocations", does });
    const lines = await stepsOf(bench, task);
    expect(getExternalCalls(lines).slice(2)).toEqual(["PUT /allocations/I", "DELETE /allocations/I"]);
    expect(bench.store.mappings.instance(task.instanceUuid)?.cell).toBeNull();
  });
});

describe("6.1: a host reschedules the build", () => {
  async function prepareReschedule(more: Partial<BuildTask> = {}) {
    const { bench, task } = await requested({ hosts: ["devstack1", "devstack2", "devstack3"] });
    await stepsOf(bench, task);
    await bench.placement.deleteAllocation(task.instanceUuid, { force: true });
    bench.casts.length = 0;
    const selection = (host: string): Selection => {
      const uuid = bench.store.computeNodes.byHost(host)[0]?.uuid ?? "";
      const request = { allocationRequest: { [uuid]: { resources: NEED } }, allocationRequestVersion: "1.36" };
      return { host, node: host, computeNodeUuid: uuid, ...request };
    };
    const again = { ...task, alternates: ["devstack2", "devstack3"].map(selection), reason: "spawn failed", ...more };
    return { bench, task: again as BuildTask };
  }

  it("the next host is claimed and gets the message with the incremented attempt", async () => {
    const { bench, task } = await prepareReschedule({ retry: { numAttempts: 2, hosts: [["devstack1", "devstack1"]] } });
    expect(await stepsOf(bench, task)).toEqual([
      ["GET /allocations/I"],
      ["PUT /allocations/I", { devstack2: NEED }],
      [
        "cast build_and_run_instance of devstack2",
        {
          instanceUuid: "I",
          allocations: { devstack2: { resources: NEED } },
          node: "devstack2",
          alternates: ["devstack3"],
          retry: {
            numAttempts: 3,
            hosts: [
              ["devstack1", "devstack1"],
              ["devstack2", "devstack2"],
            ],
          },
          requestId: "req-1",
        },
      ],
    ]);
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("without retry information it was the first attempt; the zone becomes the new host's", async () => {
    const { bench, task } = await prepareReschedule();
    bench.store.instances.save(task.instanceUuid, { availabilityZone: "elsewhere" });
    const lines = await stepsOf(bench, task);
    expect(bench.casts).toMatchObject([{ params: { retry: { numAttempts: 2, hosts: [["devstack2", "devstack2"]] } } }]);
    expect(outcome(lines)).toEqual({ instance: { availabilityZone: "nova" } });
  });

  it.each([
    ["all are full", {}, "Exhausted all hosts available for retrying build failures for instance I."],
    [
      "too many attempts",
      { retry: { numAttempts: 3, hosts: [] } },
      "Exceeded max scheduling attempts 3 for instance I. Last exception: spawn failed",
    ],
  ] as const)("%s: nothing is allocated, and the instance is in error", async (what, more, why) => {
    const { bench, task } = await prepareReschedule(more as Partial<BuildTask>);
    bench.placementBench.inject({ on: "PUT /allocations", does: FULL, times: 2 });
    const lines = await stepsOf(bench, task);
    expect(getExternalCalls(lines).slice(-1)).toEqual(["DELETE /allocations/I -> 404"]);
    expect(getExternalCalls(lines)).toHaveLength(what === "all are full" ? 5 : 1);
    expect(outcome(lines)).toEqual({
      instance: { vmState: "error", taskState: null, taskRequestId: null },
      fault: { code: 500, message: `Exceeded maximum number of retries. ${why}`, host: "conductor" },
    });
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("the first alternate is full and the second is claimed: only later ones remain as alternates", async () => {
    const { bench, task } = await prepareReschedule();
    bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
    await stepsOf(bench, task);
    expect(bench.casts).toMatchObject([{ host: "devstack3", params: { alternates: [] } }]);
  });

  it("deleted while all alternates fail: no fault is recorded", async () => {
    const { bench, task } = await prepareReschedule({ alternates: [] });
    bench.placementBench.inject({
      on: "DELETE /allocations",
      does: () => void bench.store.instances.destroy(task.instanceUuid),
    });
    const lines = await stepsOf(bench, task);
    expect(outcome(lines)).not.toHaveProperty("fault");
    expect(outcome(lines)).not.toHaveProperty("build_instances failed");
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("deleted during the claim: the claim is deleted, and the delete runs with its own request id", async () => {
    const { bench, task } = await prepareReschedule();
    const does = () => {
      bench.store.instances.save(task.instanceUuid, { taskState: "deleting", taskRequestId: "req-delete" });
      bench.store.instances.save(task.instanceUuid, { taskState: "scheduling", taskRequestId: "req-1" });
    };
    bench.placementBench.inject({ on: "PUT /allocations", does });
    const lines = await stepsOf(bench, task);
    expect(getExternalCalls(lines)).toEqual(["GET /allocations/I", "PUT /allocations/I", "DELETE /allocations/I"]);
    expect(lines).toContainEqual(["task delete_local", { requestId: "req-delete" }]);
    expect(outcome(lines).instance).toMatchObject({ taskState: "deleting", taskRequestId: "req-delete" });
    expect(outcome(lines)).not.toHaveProperty("finished apart from its last write");
  });

  it("a delete that another request has begun is left to that request", async () => {
    const { bench, task } = await prepareReschedule();
    bench.store.instances.save(task.instanceUuid, { taskState: "deleting", taskRequestId: "req-delete" });
    const lines = await stepsOf(bench, task);
    expect(lines).toEqual([["DELETE /allocations/I -> 404"]]);
  });

  it("an unexpected error: the instance is in error with the fault", async () => {
    const { bench, task } = await prepareReschedule();
    const does = () => Promise.reject(new TypeError("unforeseen"));
    bench.placementBench.inject({ on: "GET /allocations", does });
    expect(outcome(await stepsOf(bench, task))).toEqual({
      instance: { vmState: "error", taskState: null, taskRequestId: null },
      fault: { code: 500, message: "TypeError", host: "conductor" },
      "build_instances failed": true,
    });
  });
});
