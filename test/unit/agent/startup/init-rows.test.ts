import { expect, test } from "vitest";
import { planInitInstance } from "../../../../src/agent/startup/init-rows.js";
import { type Instance, POWER_STATES } from "../../../../src/records/index.js";

/**
 * Plans the actions for an instance whose guest a move has set aside; the instance has only the columns that the rows
 * read.
 */
function plan(vmState: Instance["vmState"], taskState: Instance["taskState"], host = "devstack1") {
  const systemMetadata = { set_aside_by: "7" };
  const instance = { host, vmState, taskState, systemMetadata, powerState: POWER_STATES.shutdown } as Partial<Instance>;
  const power = POWER_STATES.shutdown;
  return planInitInstance({
    host: "devstack1",
    instance: instance as Instance,
    power,
    resumeGuests: true,
    plugsVifs: false,
  }).map(({ action }) => action);
}

const BACK = { kind: "take-guest-back" };

test("2.6 row 15' set aside by a move that an evacuation has ended: taken back, and the rows below are looked at", () => {
  expect(plan("active", null)).toEqual([BACK]);
  expect(plan("error", null)).toEqual([BACK, { kind: "leave" }]);
  expect(plan("stopped", "powering-on")).toEqual([BACK, { kind: "start" }]);
});

test("2.6 row 15' not of one that is deleted, shelved or another host's", () => {
  expect(plan("active", "deleting")).toEqual([{ kind: "terminate" }]);
  expect(plan("shelved", null)).toEqual([]);
  expect(plan("active", null, "devstack2")).toMatchObject([{ kind: "leave" }]);
});

test("2.6 row 14 a driver without ports has nothing to plug; who is looked at below keeps the task", () => {
  const instance = {
    host: "devstack1",
    vmState: "active",
    taskState: "resize_migrating",
    systemMetadata: {},
  } as Partial<Instance>;
  const power = POWER_STATES.running;
  const inputs = { host: "devstack1", instance: instance as Instance, power, resumeGuests: false };
  const kinds = (plugsVifs: boolean) => planInitInstance({ ...inputs, plugsVifs }).map(({ action }) => action.kind);
  expect(kinds(false)).toEqual(["revert-resize"]);
  expect(kinds(true)).toEqual(["plug-vifs", "revert-resize"]);
});
