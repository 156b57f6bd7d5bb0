import { describe, expect, test } from "vitest";
import type { InterruptedRequest } from "../../../../src/agent/operations/flow/unfinished-work.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { FlowStage } from "../support/flow-stage.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));
const pausing = () => new FlowStage({ instance: { taskState: "pausing" } });
const pause = (stage: FlowStage) => stage.failure("pause_instance", {});

describe("one operation at a time for an instance", () => {
  test("waits for what is done exclusively; what holds no lock does not", async () => {
    const stage = pausing();
    const { operations } = stage;
    let waiting: Promise<unknown> | undefined;
    await operations.exclusively("vm", async () => {
      waiting = pause(stage);
      await settled();
      expect(stage.calls).toEqual([]);
      expect(operations.active).toBe(1);
      await stage.failure("check_can_live_migrate_source", { data: {} });
      expect(operations.active).toBe(1);
    });
    await waiting;
    expect(stage.calls).toContain("driver.pause");
    expect(operations.active).toBe(0);
  });

  test("what a start finishes, and what the driver says of power, wait, too", async () => {
    const stage = new FlowStage();
    const { operations, instance } = stage;
    const waiting: Promise<void>[] = [];
    await operations.exclusively("vm", async () => {
      if (instance) {
        waiting.push(operations.completePartialDeletion(instance), operations.syncInstancePowerState(instance));
      }
      await settled();
      expect(stage.lines).toEqual([]);
    });
    await Promise.all(waiting);
    expect(stage.calls).toContain("instance_destroy");
  });

  test("max_concurrent_builds: a build that waits for its turn does not hold the instance's lock", async () => {
    const row = { vmState: "building", taskState: "scheduling", host: null } as const;
    const stage = new FlowStage({ instance: row, config: { maxConcurrentBuilds: 1 } });
    const request = { allocations: {}, node: "node", alternates: [], requestId: "req-ours" };
    let release: () => void = () => {};
    stage.replies["driver.spawn"] = () => new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
    const first = stage.operations.run("build_and_run_instance", { ...request, instanceUuid: "other" });
    await settled();
    const second = stage.operations.run("build_and_run_instance", { ...request, instanceUuid: "vm" });
    await settled();
    expect([stage.argumentsOf("driver.spawn").length, stage.operations.active]).toEqual([1, 2]);
    let had = false;
    await stage.operations.exclusively("vm", async () => {
      had = true;
    });
    expect(had).toBe(true);
    stage.replies["driver.spawn"] = undefined;
    release();
    await Promise.all([first, second]);
    expect(stage.operations.active).toBe(0);
  });
});

describe("2.6 OPT an operation to which the conductor did not answer", () => {
  test.each([new ConductorError("MessagingTimeout", "away"), new ConductorError("ConductorUnreachable", "away")])(
    "%o: is remembered",
    async (silence) => {
      const stage = pausing();
      stage.replies["tracker.saveInstance"] = undefined;
      stage.replies.instance_add_fault = silence;
      stage.replies["driver.pause"] = new Error("broken");
      expect(await pause(stage)).toMatchObject({ message: "broken" });
      expect(stage.operations.interrupted.all).toEqual([{ instanceUuid: "vm", requestId: "req-ours" }]);
    },
  );

  test("one that it answered, with whatever, is not", async () => {
    const stage = pausing();
    stage.replies.instance_add_fault = new Error("refused");
    stage.replies["driver.pause"] = new Error("broken");
    await pause(stage);
    expect(stage.operations.interrupted.all).toEqual([]);
  });

  test("is forgotten when it is settled, unless a later one has taken its place", async () => {
    const stage = pausing();
    stage.replies.instance_get = new ConductorError("MessagingTimeout", "away");
    const { interrupted } = stage.operations;
    await pause(stage);
    const [first] = interrupted.all as [InterruptedRequest];
    await stage.failure("pause_instance", { requestId: "req-second" });
    interrupted.remove(first);
    expect(interrupted.all).toEqual([{ instanceUuid: "vm", requestId: "req-second" }]);
    const [second] = interrupted.all as [InterruptedRequest];
    interrupted.remove(second);
    expect(interrupted.all).toEqual([]);
  });
});

describe("what an operation logs", () => {
  test("carries the request's id", async () => {
    const stage = pausing();
    stage.replies["driver.pause"] = new Error("broken");
    stage.replies.instance_add_fault = new Error("conductor");
    await pause(stage);
    const logs = stage.runtime.logs.filter(({ message }) => message === "could not record the fault");
    expect(logs.map(({ fields }) => fields)).toMatchObject([{ request_id: "req-ours", instance: "vm" }]);
  });
});

describe("a message that is not carried out", () => {
  const OTHERS = { taskRequestId: "req-theirs" };
  const EXPECTED = "expected it here, with task_state pausing of req-ours";

  test.each([
    ["has another request's task", OTHERS, "found it on host here, active, with task_state pausing of req-theirs"],
    ["is in no task", { taskState: null }, "found it on host here, active, with no task_state"],
    [
      "is in another task",
      { taskState: "deleting", taskRequestId: null },
      "found it on host here, active, with task_state deleting of an unknown request",
    ],
    ["is deleted", { deleted: 1 }, "found it deleted, active, with task_state pausing of req-ours"],
  ] as const)("of an instance that %s says what was found and expected", async (_, instance, found) => {
    const stage = new FlowStage({ instance: { taskState: "pausing", ...instance } });
    await pause(stage);
    expect(stage.logged(`pause_instance for instance vm is not carried out on host here: ${found}; ${EXPECTED}`)).toBe(
      1,
    );
  });

  test("of an instance that never was", async () => {
    const stage = pausing();
    stage.instance = null;
    await pause(stage);
    expect(stage.logged(`found no such instance; ${EXPECTED}`)).toBe(1);
    expect(stage.runtime.logs.at(-1)).toMatchObject({ level: "info", fields: { instance: "vm", reason: "gone" } });
  });

  test.each([
    [
      "reboot_instance",
      { taskRequestId: "req-theirs", taskState: "rebooting" },
      undefined,
      "with task_state rebooting or reboot_pending or",
    ],
    [
      "build_and_run_instance",
      { vmState: "error" },
      undefined,
      "expected it nowhere, building, with task_state scheduling or null of req-ours",
    ],
    [
      "confirm_resize",
      {},
      { status: "done" },
      "with any task_state, and this host as source of its migration in finished,confirming,error",
    ],
    [
      "confirm_resize",
      {},
      { status: "done" },
      ", its resize 7 from elsewhere to elsewhere too is done; expected it anywhere",
    ],
  ] as const)("%s of %o, %o: %s", async (method, instance, migration, text) => {
    const stage = new FlowStage({ instance, migration });
    await stage.failure(method, {} as never);
    expect(stage.logged(text)).toBe(1);
  });

  test("its user is told, where another request has the instance", async () => {
    const taken = new FlowStage({ instance: { taskState: "pausing", ...OTHERS } });
    await pause(taken);
    expect(taken.events).toEqual(["compute_pause_instance", "Error"]);
    expect(taken.runtime.logs.at(-1)?.level).toBe("warn");
    const ended = new FlowStage({ instance: { taskState: null } });
    await pause(ended);
    expect([ended.events, ended.runtime.logs.at(-1)?.level]).toEqual([[], "warn"]);
  });

  test("that it could not be given back is an error", async () => {
    const stage = new FlowStage({ instance: { vmState: "error", taskState: null, host: null } });
    stage.replies["placement.deleteAllocation"] = () => {
      throw new Error("broken");
    };
    expect(await stage.failure("build_and_run_instance", { allocations: {}, node: "node", alternates: [] })).toBeNull();
    expect(stage.logged("allocations could not be removed")).toBe(1);
  });
});
