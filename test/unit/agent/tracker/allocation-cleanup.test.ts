import { describe, expect, test } from "vitest";
import { type ConsumerInputs, checkConsumer } from "../../../../src/agent/tracker/allocation-cleanup.js";
import { aMigration, anInstance } from "../../../fixtures/records.js";

function check(inputs: Partial<ConsumerInputs>) {
  return checkConsumer({
    uuid: "instance",
    where: { host: "here", node: "node" },
    tracked: false,
    migration: false,
    instance: null,
    leftMove: null,
    ...inputs,
  });
}

describe("4.6 rows, the first match wins", () => {
  test("4.6 row 1 counted on the node: keep, also one that is deleted meanwhile", () => {
    expect(check({ tracked: true, instance: anInstance({ deleted: 7 }) })).toEqual({ row: 1, action: "keep" });
  });
  test("4.6 row 2 uuid of a migration of the node: keep", () => {
    expect(check({ migration: true })).toEqual({ row: 2, action: "keep" });
  });
  test("4.6 row 3 no such instance, even among deleted: keep, info", () => {
    expect(check({})).toMatchObject({ row: 3, action: "keep", log: { level: "info" } });
  });
  test("4.6 row 3 a move of a deleted instance: ended", () => {
    const result = check({ leftMove: aMigration({ id: 9, migrationType: "resize", status: "pre-migrating" }) });
    expect(result).toMatchObject({ row: 3, action: "end-move", log: { level: "info" } });
    expect(result.log?.message).toContain("resize 9 was left pre-migrating");
  });
  test("4.6 row 4 instance deleted: delete; a hidden one is kept by the rows below", () => {
    expect(check({ instance: anInstance({ deleted: 7, host: null }) })).toMatchObject({ row: 4, action: "delete" });
    expect(check({ instance: anInstance({ deleted: 7, host: null, hidden: true }) })).toMatchObject({ action: "keep" });
  });
  test("4.6 row 5 instance without host: keep silently", () => {
    expect(check({ instance: anInstance({ host: null, node: null }) })).toEqual({ row: 5, action: "keep" });
  });
  test("4.6 row 6 host and node match: keep; debug with a task, else warning", () => {
    expect(check({ instance: anInstance({ taskState: "migrating" }) })).toMatchObject({
      row: 6,
      log: { level: "debug" },
    });
    expect(check({ instance: anInstance() })).toMatchObject({ row: 6, action: "keep", log: { level: "warn" } });
  });
  test("4.6 row 7 host elsewhere: warning, reported as moved", () => {
    const result = check({ instance: anInstance({ host: "elsewhere" }) });
    expect(result).toMatchObject({ row: 7, action: "report-moved", log: { level: "warn" } });
    expect(result.log?.message).toContain("host elsewhere");
  });
  test("4.6 row 8 host matches, node differs: keep silently", () => {
    expect(check({ instance: anInstance({ node: "another" }) })).toEqual({ row: 8, action: "keep" });
  });
});
