import { beforeEach, describe, expect, it } from "vitest";
import type { TaskContext } from "../../../../../src/control-plane/conductor/task-runner.js";
import { ActionEvents } from "../../../../../src/control-plane/conductor/tasks/task-deps.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { ConductorBench } from "../../../../unit/control-plane/conductor/tasks/bench.js";

const CONTEXT: TaskContext = { requestId: "req-1", restarted: false, report: () => {}, finish: () => {} };

let store: Store;
let request: { readonly instanceUuid: string; readonly requestId: string };

beforeEach(async () => {
  const bench = await ConductorBench.open();
  await bench.host("devstack1");
  const { uuid: instanceUuid } = await bench.server("devstack1");
  ({ store } = bench);
  request = { instanceUuid, requestId: "req-1" };
});

const begin = () => new ActionEvents(store, request, "outer", "inner");
const action = () => store.actions.start({ ...request, action: "resize", userId: "user", projectId: "project" });

describe("the events of a conductor's task", () => {
  const succeeds = async () => "done";
  const throws = async () => {
    throw new Error("broken");
  };
  const fails = async (_: TaskContext, fail: (error: Error) => void) => {
    fail(new Error("broken"));
    return "done";
  };

  it.each([
    { work: succeeds, is: "done", result: "Success", details: null },
    { work: throws, is: "broken", result: "Error", details: "Error" },
    { work: fails, is: "done", result: "Error", details: "Error" },
  ])("$work.name: end with $result", async ({ work, is, ...event }) => {
    const run = () => {
      const events = begin();
      return events
        .during(CONTEXT, (context) => work(context, (error) => events.fail(error)))
        .catch((error: Error) => error.message);
    };
    expect(await run(), "without an action there is nothing to end").toBe(is);
    const { id } = action();
    expect(await run()).toBe(is);
    expect(store.actions.events(id)).toMatchObject([
      { ...event, event: "outer" },
      { ...event, event: "inner" },
    ]);
  });

  it("end in the transaction that finishes the task, and again if that is rolled back", async () => {
    const { id } = action();
    const open = () => store.actions.events(id).filter(({ finishTime }) => finishTime === null).length;
    const found: number[] = [];
    await begin().during({ ...CONTEXT, finish: () => found.push(open()) }, async ({ finish }) => {
      const undone = () =>
        store.transaction(() => {
          finish();
          throw new Error("undone");
        });
      expect(undone).toThrow("undone");
      found.push(open());
      store.transaction(finish);
      found.push(open());
    });
    expect(found).toEqual([0, 2, 0, 0]);
  });
});
