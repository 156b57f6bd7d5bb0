import { describe, expect, it } from "vitest";
import { withActionEvent } from "../../../../../src/cluster/conductor/tasks/action-event.js";
import { ConductorBench } from "../../../../unit/cluster/conductor/tasks/bench.js";

describe("the event of a conductor's task", () => {
  const succeeds = async () => "done";
  const throws = async () => {
    throw new Error("broken");
  };
  const fails = async (fail: (error: Error) => void) => {
    fail(new Error("broken"));
    return "done";
  };

  it.each([
    { work: succeeds, is: "done", result: "Success", details: null },
    { work: throws, is: "broken", result: "Error", details: "broken" },
    { work: fails, is: "done", result: "Error", details: "broken" },
  ])("$work.name: ends with $result", async ({ work, is, ...event }) => {
    const bench = await ConductorBench.open();
    await bench.host("devstack1");
    const { uuid: instanceUuid } = await bench.server("devstack1");
    const { store } = bench;
    const request = { instanceUuid, requestId: "req-1" };
    const run = () =>
      withActionEvent(store, { ...request, event: "work" }, work).catch((error: Error) => error.message);
    expect(await run(), "no action is known: there is nothing to end").toBe(is);
    const action = store.actions.start({ ...request, action: "resize", userId: "user", projectId: "project" });
    expect(await run()).toBe(is);
    expect(store.actions.events(action.id)).toMatchObject([{ ...event, event: "work" }]);
  });
});
