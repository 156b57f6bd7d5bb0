import { describe, expect, test } from "vitest";
import {
  addFault,
  attempt,
  erroringOut,
  withActionEvent,
} from "../../../../../src/agent/operations/flow/error-wrappers.js";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { InstanceFaultRollback, NotImplemented, VirtDriverMisbehaved } from "../../../../../src/virt/errors.js";
import { FlowStage, REQUEST } from "../../support/flow-stage.js";

const EVENT = { instanceUuid: "vm", event: "compute_a", requestId: REQUEST };
const without = Object.assign(new Error("bare"), { stack: "" });

async function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (value) => value,
    (error: unknown) => error,
  );
}
const fails = (error: unknown) => async (): Promise<never> => {
  throw error;
};

describe("1.6 the event of an action", () => {
  const finished = (stage: FlowStage) => stage.argumentsOf("instance_action_event_finish").map(([params]) => params);

  test("is begun with its host, and ends with the operation", async () => {
    const stage = new FlowStage();
    expect(await withActionEvent(stage.context, EVENT, async ({ id }) => id)).toBe(17);
    expect(stage.argumentsOf("instance_action_event_start")).toEqual([[{ ...EVENT, host: "here" }]]);
    expect(finished(stage)).toEqual([{ eventId: 17, result: "Success" }]);
  });

  test.each([
    [new TypeError("broken"), { details: "TypeError", traceback: expect.stringContaining("TypeError: broken") }],
    [new NotImplemented("cannot"), { details: "cannot", traceback: expect.any(String) }],
    [without, { details: "Error", traceback: "Error: bare" }],
    ["a text", { details: "Error" }],
  ])("ends as an error with what went wrong: %o", async (error, expected) => {
    const stage = new FlowStage();
    expect(await outcome(withActionEvent(stage.context, EVENT, fails(error)))).toBe(error);
    expect(finished(stage)).toStrictEqual([{ eventId: 17, result: "Error", ...expected }]);
  });

  test("of an instance without an action there is none to end", async () => {
    const stage = new FlowStage();
    stage.replies.instance_action_event_start = () => null;
    await withActionEvent(stage.context, EVENT, async ({ id }) => expect(id).toBeNull());
    expect(finished(stage)).toEqual([]);
  });

  test("one that was handed over is not ended here", async () => {
    const stage = new FlowStage();
    await withActionEvent(stage.context, EVENT, async (event) => event.handOver());
    expect(finished(stage)).toEqual([]);
    expect(stage.logged("could not")).toBe(0);
  });
});

describe("1.6 faults", () => {
  test.each([
    [new TypeError("broken"), { message: "TypeError", details: expect.stringContaining("TypeError: broken") }],
    [new TypeError(""), { message: "TypeError", details: expect.any(String) }],
    [new NotImplemented("cannot"), { message: "cannot", details: expect.any(String) }],
    [
      new VirtDriverMisbehaved("d", "spawn", "r", "secret"),
      { message: "VirtDriverMisbehaved", details: expect.any(String) },
    ],
    [without, { message: "Error", details: "Error: bare" }],
    ["a text", { message: "Error" }],
  ])("%o", async (error, expected) => {
    const stage = new FlowStage();
    await addFault(stage.context, "vm", error);
    expect(stage.argumentsOf("instance_add_fault")).toStrictEqual([
      [{ uuid: "vm", code: 500, host: "here", ...expected }],
    ]);
  });
});

describe("1.6 an instance that fails", () => {
  const save = (vmState: string, here = true) => [
    {
      uuid: "vm",
      changes: { vmState, taskState: null },
      ofRequest: REQUEST,
      ...(here ? { expectedHost: "here" } : {}),
    },
  ];

  test.each<[unknown, string, unknown]>([
    [new Error("broken"), "error", undefined],
    [new NotImplemented("cannot"), "stopped", undefined],
    [new InstanceFaultRollback("alone"), "stopped", undefined],
    [new InstanceFaultRollback("x", { cause: "inner" }), "stopped", "inner"],
  ])("%o: becomes %s", async (error, vmState, thrown = error) => {
    const stage = new FlowStage({ instance: { vmState: "stopped" } });
    expect(await outcome(erroringOut(stage.context, stage.instance as never, REQUEST, fails(error)))).toBe(thrown);
    expect(stage.argumentsOf("instance_save")).toEqual([save(vmState)]);
  });

  test("elsewhere: whatever its host", async () => {
    const stage = new FlowStage({ instance: { host: "there" } });
    await outcome(erroringOut(stage.context, stage.instance as never, REQUEST, fails(new Error("broken"))));
    expect(stage.argumentsOf("instance_save")).toEqual([save("error", false)]);
  });

  test.each([
    new ConductorError("InstanceNotFound", "gone"),
    new ConductorError("UnexpectedDeletingTaskState", "deleting"),
  ])("%o: is left", async (error) => {
    const stage = new FlowStage();
    expect(await outcome(erroringOut(stage.context, stage.instance as never, REQUEST, fails(error)))).toBe(error);
    expect(stage.lines).toEqual([]);
  });

  test.each<[Error, string, number]>([
    [new ConductorError("UnexpectedTaskState", "taken"), "info", 1],
    [new ConductorError("ObjectActionError", "host changed"), "info", 1],
    [new ConductorError("InstanceNotFound", "gone"), "error", 0],
    [new Error("conductor"), "error", 1],
  ])(
    "its row cannot be written (%o): the first error is told, and the log says (%s) %i times",
    async (saveError, level, times) => {
      const stage = new FlowStage();
      stage.replies.instance_save = saveError;
      const error = new Error("first");
      expect(await outcome(erroringOut(stage.context, stage.instance as never, REQUEST, fails(error)))).toBe(error);
      expect(stage.runtime.logs.map((entry) => entry.level)).toEqual(Array(times).fill(level));
    },
  );
});

test.each<[Error, number]>([
  [new ConductorError("InstanceNotFound", "gone"), 0],
  [new ConductorError("MigrationNotFound", "gone"), 0],
  [new Error("broken"), 1],
])("what an error handler does hides no error, and a row that is gone needs nothing: %o", async (error, logCount) => {
  const stage = new FlowStage();
  await attempt(stage.context, "vm", "do it", fails(error));
  expect(stage.runtime.logs).toMatchObject(
    Array(logCount).fill({ level: "error", message: "could not do it", fields: { instance: "vm", err: error } }),
  );
});
