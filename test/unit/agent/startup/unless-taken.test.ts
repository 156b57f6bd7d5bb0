import { describe, expect, test } from "vitest";
import { endMove, requireAsFound, unlessTaken } from "../../../../src/agent/startup/unless-taken.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { Instance } from "../../../../src/records/index.js";
import { StartStage } from "../support/start-stage.js";

const HOST_CHANGED = new ConductorError("ObjectActionError", "x", { reason: "host changed" });
const TAKEN = [
  new ConductorError("InstanceNotFound", "x"),
  new ConductorError("UnexpectedTaskState", "x"),
  new ConductorError("UnexpectedVmState", "x"),
  new ConductorError("MigrationNotFound", "x"),
  HOST_CHANGED,
];
const OURS = [
  new ConductorError("ObjectActionError", "x", { reason: "another" }),
  new ConductorError("ObjectActionError", "x"),
  new Error("x"),
];

function outcome(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe("9.2 an instance that somebody else has by now", () => {
  test.each([...TAKEN, new ConductorError("InvalidMigrationState", "x")])(
    "%o: is left, and that is said",
    async (error) => {
      const stage = new StartStage();
      const fields = { instance: "vm", migration: 7 };
      expect(await outcome(unlessTaken(stage.services, fields, async () => Promise.reject(error)))).toBeNull();
      expect(stage.runtime.logs).toMatchObject([{ level: "info", fields: { ...fields, err: error } }]);
    },
  );

  test.each(OURS)("%o: says nothing of that, and goes up", async (error) => {
    const stage = new StartStage();
    const work = async () => Promise.reject(error);
    expect(await outcome(unlessTaken(stage.services, { instance: "vm" }, work))).toBe(error);
  });

  test.each<[string, Partial<Instance> | null, string, string]>([
    ["deleted", null, "InstanceNotFound", "instance vm was deleted"],
    ["elsewhere", { host: "there" }, "ObjectActionError", "host changed: found there, expected here"],
    ["nowhere", { host: null }, "ObjectActionError", "host changed: found none, expected here"],
    ["in another task", { taskState: "deleting" }, "UnexpectedTaskState", "found task_state deleting, expected none"],
    ["in another state", { vmState: "paused" }, "UnexpectedVmState", "found vm_state paused, expected active"],
  ])("%s: says what was found and expected", async (_, changes, name, text) => {
    const stage = new StartStage();
    const found = stage.instance as Instance;
    stage.instance = changes && { ...found, ...changes };
    const failure = await outcome(requireAsFound(stage.services, found));
    expect(failure).toMatchObject({ name, message: expect.stringContaining(text) });
    const left = await outcome(unlessTaken(stage.services, { instance: "vm" }, async () => Promise.reject(failure)));
    expect(left).toBeNull();
  });

  test("none, where one was expected", async () => {
    const stage = new StartStage({ instance: { host: null } });
    const found = stage.instance as Instance;
    const taken = { ...found, host: "here", taskState: "deleting" } as const;
    stage.instance = taken;
    expect(await outcome(requireAsFound(stage.services, found))).toMatchObject({
      message: expect.stringContaining("found here, expected none"),
    });
    expect(await outcome(requireAsFound(stage.services, { ...taken, taskState: "migrating" }))).toMatchObject({
      message: expect.stringContaining("found task_state deleting, expected migrating"),
    });
    stage.instance = { ...taken, taskState: null };
    expect(await outcome(requireAsFound(stage.services, taken))).toMatchObject({
      message: expect.stringContaining("found task_state none, expected deleting"),
    });
  });

  test("as it was found: as it is now", async () => {
    const stage = new StartStage();
    const found = stage.instance as Instance;
    stage.instance = { ...found, powerState: 4 };
    expect(await requireAsFound(stage.services, found)).toBe(stage.instance);
  });
});

describe("the last write about a move", () => {
  const instance = { uuid: "vm", changes: { taskState: null } };
  const migration = { id: 7, changes: { status: "error" } } as const;
  const ID = { requestId: "req-1" };

  test("is both records, or the one that is given", async () => {
    const stage = new StartStage();
    await endMove(stage.services, { instance, migration }, "req-1");
    await endMove(stage.services, { migration }, "req-1");
    await endMove(stage.services, { instance }, "req-1");
    expect(stage.argumentsOf("save_together")).toStrictEqual([
      [{ instance, migration }, ID],
      [{ migration }, ID],
      [{ instance }, ID],
    ]);
  });

  test.each(TAKEN)("%o: the migration ends alone", async (error) => {
    const stage = new StartStage();
    stage.replies.save_together = error;
    await endMove(stage.services, { instance, migration }, "req-1");
    expect(stage.argumentsOf("migration_save")).toEqual([[migration, ID]]);
    const fields = { instance: "vm", migration: 7, request_id: "req-1" };
    expect(stage.runtime.logs).toMatchObject([{ level: "info", fields }]);
  });

  test.each([...OURS, new ConductorError("InvalidMigrationState", "x")])("%o goes up", async (error) => {
    const stage = new StartStage();
    stage.replies.save_together = error;
    expect(await outcome(endMove(stage.services, { instance, migration }, "req-1"))).toBe(error);
    expect(stage.argumentsOf("migration_save")).toEqual([]);
  });

  test("without a migration there is none to end alone", async () => {
    const stage = new StartStage();
    stage.replies.save_together = HOST_CHANGED;
    expect(await outcome(endMove(stage.services, { instance }, "req-1"))).toBe(HOST_CHANGED);
  });
});
