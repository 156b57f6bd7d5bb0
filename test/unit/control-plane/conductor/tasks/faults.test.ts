import { beforeEach, describe, expect, it } from "vitest";
import { carryOutDelete } from "../../../../../src/control-plane/conductor/tasks/delete-instance.js";
import {
  addFault,
  computeServiceUnavailable,
  endOperation,
  InstanceInvalidState,
  preCheckFailed,
  retriesExceeded,
} from "../../../../../src/control-plane/conductor/tasks/faults.js";
import { taskOptions } from "../../../../../src/control-plane/conductor/tasks/task-deps.js";
import { NoValidHost } from "../../../../../src/control-plane/scheduler/errors.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import type { InstanceChanges } from "../../../../../src/records/index.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { anInstance } from "../../../../fixtures/records.js";

const I = "cccccccc-0000-4000-8000-000000000001";

let store: Store;

beforeEach(() => {
  store = emptyStore({ runtime: createVirtualRuntime() });
  const { id: _id, ...columns } = anInstance({ uuid: I, host: null, node: null, computeId: null });
  store.instances.create(columns);
});

describe("addFault", () => {
  it("has the first 255 characters of the message, and the stack as its details", () => {
    const error = new NoValidHost("x".repeat(300));
    addFault(store, I, error);
    expect(store.instances.fault(I)).toMatchObject({
      code: 500,
      message: error.message.slice(0, 255),
      details: error.stack,
      host: "conductor",
    });
  });

  it("has the class name if the message is not public, and no details without an error", () => {
    const error = new Error("short");
    delete error.stack;
    addFault(store, I, error);
    expect(store.instances.fault(I)).toMatchObject({ message: "Error", details: "Error: short" });
    addFault(store, I, "a text");
    expect(store.instances.fault(I)).toMatchObject({ message: "Error", details: null });
  });
});

describe("endOperation", () => {
  const end = (changes: InstanceChanges) => {
    const instance = store.instances.save(I, changes);
    endOperation(store, instance, { vmState: "error", requestId: "req-1" }, new NoValidHost("why"));
    const { vmState, taskState } = store.instances.get(I) ?? expect.fail("it is gone");
    expect(store.instances.fault(I)?.message).toBe("No valid host was found. why");
    return { vmState, taskState };
  };

  it("ends it if this request or no known request owns it, and adds the fault in any case", () => {
    const ended = { vmState: "error", taskState: null };
    expect(end({ vmState: "active", taskState: "rebuilding", taskRequestId: "req-1" })).toEqual(ended);
    expect(end({ vmState: "active", taskState: null, taskRequestId: null })).toEqual(ended);
    const other = { vmState: "active", taskState: "deleting", taskRequestId: "req-2" } as const;
    expect(end(other)).toEqual({ vmState: "active", taskState: "deleting" });
  });
});

describe("carryOutDelete", () => {
  const carryOut = (...changes: readonly InstanceChanges[]) => {
    for (const each of changes) {
      store.instances.save(I, each);
    }
    carryOutDelete(store, store.instances.get(I), "req-1");
    const { taskState, taskRequestId } = store.instances.get(I) ?? expect.fail("it is gone");
    return { taskState, taskRequestId, tasks: store.tasks.pending().map(({ task }) => task) };
  };
  const acknowledged = { taskState: "deleting", taskRequestId: "req-delete" } as const;

  it("continues a delete whose task_state this request has overwritten", () => {
    expect(carryOut(acknowledged, { taskState: "rebuilding", taskRequestId: "req-1" })).toEqual({
      ...acknowledged,
      tasks: [{ kind: "delete_local", instanceUuid: I, requestId: "req-delete" }],
    });
  });

  it("ignores an instance without a delete, or one that another request owns", () => {
    const mine = { taskState: "rebuilding", taskRequestId: "req-1" } as const;
    expect(carryOut(mine)).toEqual({ ...mine, tasks: [] });
    const others = { taskState: "rebuilding", taskRequestId: "req-2" } as const;
    expect(carryOut(acknowledged, others)).toEqual({ ...others, tasks: [] });
    carryOutDelete(store, null, "req-1");
    expect(store.tasks.pending()).toEqual([]);
  });
});

describe("retriesExceeded", () => {
  it.each([
    [3, "boom", "Exhausted all hosts available for retrying build failures for instance I."],
    [4, "boom", "Exceeded max scheduling attempts 3 for instance I. Last exception: boom"],
    [4, undefined, "Exceeded max scheduling attempts 3 for instance I. Last exception: None"],
  ])("attempt %i of 3 after %s", (numAttempts, reason, text) => {
    const { message } = retriesExceeded("I", { numAttempts, maxAttempts: 3, reason });
    expect(message).toBe(`Exceeded maximum number of retries. ${text}`);
  });
});

it("errors have OpenStack's names, which instance faults contain", () => {
  const errors = [retriesExceeded("I", { numAttempts: 3, maxAttempts: 3, reason: "r" }), preCheckFailed("r")];
  const more = [computeServiceUnavailable("h"), new InstanceInvalidState("i", 4)];
  expect([...errors, ...more].map(({ name }) => name)).toEqual([
    "MaxRetriesExceeded",
    "MigrationPreCheckError",
    "ComputeServiceUnavailable",
    "InstanceInvalidState",
  ]);
});

it("tasks get only the options that they name", () => {
  const options = { allowResizeToSameHost: true, migrateMaxRetries: 5 };
  expect(taskOptions({ ...options, other: 1 } as typeof options)).toEqual(options);
});
