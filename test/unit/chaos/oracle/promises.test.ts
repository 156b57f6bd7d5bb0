import { describe, expect, it } from "vitest";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { wrongFlavors } from "../../../chaos/oracle/flavors.js";
import { wrongStates } from "../../../chaos/oracle/last-words.js";
import { brokenPromises } from "../../../chaos/oracle/promises.js";
import { type ObservedResponse, type ServerRequest, toServerRequest } from "../../../chaos/oracle/requests.js";
import type { Snapshot } from "../../../chaos/oracle/snapshot.js";
import { addMigration } from "../../agent/support/records.js";
import { addInstance, FLAVOR, memoryStore, uuidOf } from "../../control-plane/store/support.js";

const SERVER = uuidOf(1);

function snapshotOf(store: Store): Snapshot {
  return { store, now: 0, guests: [], held: new Map(), providers: new Map() };
}

function aServerRequest(what: string, overrides: Partial<ServerRequest> = {}): ServerRequest {
  return { what, server: SERVER, outcome: "done", requestId: null, flavor: null, ...overrides };
}

/** Events with which actions end. */
const EVENTS: Readonly<Record<string, string>> = {
  resize: "compute_finish_resize",
  revertResize: "compute_finish_revert_resize",
  "live-migration": "compute_live_migration",
};

/** An action of the server's, which has ended unless `result` is null. */
function act(store: Store, action: string, requestId: string, result: "Success" | "Error" | null = "Success"): void {
  store.actions.start({ action, instanceUuid: SERVER, requestId, userId: null, projectId: null });
  const id = store.actions.startEvent({ instanceUuid: SERVER, event: EVENTS[action] ?? "any", host: null, requestId });
  if (id !== null && result !== null) {
    store.actions.finishEvent(id, { result });
  }
}

describe("a server that was acknowledged", () => {
  it("is there until somebody asks for its end", async () => {
    const { store } = await memoryStore();
    const created = aServerRequest("create");
    expect(brokenPromises(snapshotOf(store), [created])).toMatchObject([
      { what: expect.stringContaining("no record") },
    ]);
    expect(brokenPromises(snapshotOf(store), [created, aServerRequest("delete", { outcome: "unknown" })])).toEqual([]);
    addInstance(store, SERVER);
    expect(brokenPromises(snapshotOf(store), [created])).toEqual([]);
    store.instances.destroy(SERVER);
    expect(
      brokenPromises(snapshotOf(store), [created, aServerRequest("delete", { outcome: "refused" })]),
    ).toMatchObject([{ subject: SERVER, what: expect.stringContaining("nobody asked") }]);
    expect(brokenPromises(snapshotOf(store), [created, aServerRequest("delete")])).toEqual([]);
  });
});

describe("a server that was deleted, and then restored", () => {
  const restore = aServerRequest("restore", { requestId: "req-restore" });
  it.each([
    ["is there from then on", "Success", [aServerRequest("delete"), restore], true],
    ["may be deleted where that failed", "Error", [aServerRequest("delete"), restore], false],
    ["may be deleted again", "Success", [aServerRequest("delete"), restore, aServerRequest("delete")], false],
    [
      "may be deleted by a request without an answer",
      "Success",
      [aServerRequest("delete", { outcome: "unknown" }), restore],
      false,
    ],
  ] as const)("%s", async (_name, result, requests, isBroken) => {
    const { store } = await memoryStore();
    addInstance(store, SERVER);
    act(store, "restore", "req-restore", result);
    store.instances.destroy(SERVER);
    const found = brokenPromises(snapshotOf(store), requests).map(({ what }) => what);
    expect(found.some((what) => what.includes("nobody asked"))).toBe(isBroken);
  });
});

describe("an action", () => {
  it.each([
    ["was acknowledged, and has ended", "done", "Success", null],
    ["was acknowledged, and has failed, as its user can see", "done", "Error", null],
    ["was acknowledged, and never ends", "done", null, /its action never ended/],
    ["was acknowledged, and is not known", "done", undefined, /no action tells of it/],
    ["was refused, and has a record", "refused", "Success", /was refused, and has the action/],
    ["was refused, and has none", "refused", undefined, null],
    ["was not answered", "unknown", undefined, null],
  ] as const)("that %s", async (_name, outcome, result, reason) => {
    const { store } = await memoryStore();
    addInstance(store, SERVER);
    if (result !== undefined) {
      act(store, "stop", "req-1", result);
    }
    const found = brokenPromises(snapshotOf(store), [aServerRequest("os-stop", { outcome, requestId: "req-1" })], {
      nobodyDies: true,
    });
    expect(found.map(({ what }) => what)).toEqual(reason === null ? [] : [expect.stringMatching(reason)]);
  });

  it.each([
    ["stop", "stopped", []],
    ["stop", "active", [expect.objectContaining({ what: "its stop of req-1 ended well, and it is active" })]],
    ["live-migration", "paused", []],
    ["lock", "error", []],
    ["createBackup", "error", []],
  ] as const)("%s that ended well may leave a server %s", async (action, vmState, expected) => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState, taskState: null });
    act(store, action, "req-1");
    expect(wrongStates(snapshotOf(store))).toEqual(expected);
  });

  it("is over with its last event, when all its events went well", async () => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState: "active", taskState: null });
    store.actions.start({ action: "migrate", instanceUuid: SERVER, requestId: "req-1", userId: null, projectId: null });
    const event = (name: string) =>
      store.actions.startEvent({ instanceUuid: SERVER, event: name, host: null, requestId: "req-1" }) ?? 0;
    store.actions.finishEvent(event("cold_migrate"), { result: "Success" });
    expect(wrongStates(snapshotOf(store))).toEqual([]);
    store.actions.finishEvent(event("compute_finish_resize"), { result: "Success" });
    expect(wrongStates(snapshotOf(store))).toHaveLength(1);
    event("compute_finish_resize");
    expect(wrongStates(snapshotOf(store))).toEqual([]);
  });

  it("may confirm a move by itself, where agents do so", async () => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState: "active", taskState: null });
    act(store, "start", "req-1");
    store.actions.start({ action: "resize", instanceUuid: SERVER, requestId: "req-2", userId: null, projectId: null });
    const event = { instanceUuid: SERVER, event: "compute_finish_resize", host: null, requestId: "req-2" };
    store.actions.finishEvent(store.actions.startEvent(event) ?? 0, { result: "Success" });
    const { id } = addMigration(store, SERVER, "resize", "finished", {});
    expect(wrongStates(snapshotOf(store), { confirms: true })).toHaveLength(1);
    store.migrations.save(id, { status: "confirmed" });
    expect(wrongStates(snapshotOf(store), { confirms: true })).toEqual([]);
    expect(wrongStates(snapshotOf(store))).toHaveLength(1);
    act(store, "pause", "req-3");
    expect(wrongStates(snapshotOf(store), { confirms: true })).toHaveLength(1);
  });

  it("says nothing of a server whose state an operator has set", async () => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState: "error", taskState: null });
    act(store, "start", "req-1");
    expect(wrongStates(snapshotOf(store), { reset: new Set([SERVER]) })).toEqual([]);
    expect(wrongStates(snapshotOf(store), { reset: new Set([uuidOf(2)]) })).toHaveLength(1);
  });

  it.each([
    ["DELETE", "migrations/7", "live_migration_cancel"],
    ["POST", "migrations/7/action", "live_migration_force_complete"],
    ["GET", "migrations/7", undefined],
  ])("%s %s is %s", (method, path, what) => {
    const response = { status: 202, body: {}, requestId: "req-1" };
    expect(toServerRequest({ method, path: `/servers/${SERVER}/${path}` }, response)?.what).toBe(what);
  });

  it("tells by a fault why a server is in error, although it ended well", async () => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState: "error", taskState: null });
    act(store, "start", "req-1");
    expect(wrongStates(snapshotOf(store))).toHaveLength(1);
    store.instances.addFault({ instanceUuid: SERVER, code: 500, message: "no", details: null, host: null });
    expect(wrongStates(snapshotOf(store))).toEqual([]);
  });

  it("leaves any state when it failed, and a guest may stop when its host has lost its power", async () => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { vmState: "stopped", taskState: null });
    act(store, "start", "req-1");
    expect(wrongStates(snapshotOf(store))).toHaveLength(1);
    expect(wrongStates(snapshotOf(store), { powerLoss: true })).toEqual([]);
    act(store, "lock", "req-3");
    expect(wrongStates(snapshotOf(store))).toHaveLength(1);
    act(store, "start", "req-2", "Error");
    expect(wrongStates(snapshotOf(store))).toEqual([]);
  });
});

describe("a flavor", () => {
  const resize = (flavor: string, requestId: string | null, outcome: ServerRequest["outcome"] = "done") =>
    aServerRequest("resize", { flavor, requestId, outcome });

  it.each([
    ["as it was created", [], "1", true],
    ["another one than it was created with", [], "2", false],
    ["that of its resize", [["resize", "req-1"]], "2", true],
    ["the old one after its resize", [["resize", "req-1"]], "1", false],
    [
      "the old one after a revert",
      [
        ["resize", "req-1"],
        ["revertResize", "req-2"],
      ],
      "1",
      true,
    ],
    [
      "the new one after a revert",
      [
        ["resize", "req-1"],
        ["revertResize", "req-2"],
      ],
      "2",
      false,
    ],
    [
      "the old one after a confirmation",
      [
        ["resize", "req-1"],
        ["confirmResize", "req-2"],
      ],
      "1",
      false,
    ],
    ["the old one when the resize failed", [["resize", "req-1", "Error"]], "1", true],
    ["the new one when the resize failed", [["resize", "req-1", "Error"]], "2", true],
    ["one that nobody asked for", [["resize", "req-1", "Error"]], "3", false],
    ["that of a resize whose answer was lost", [["resize", "req-9"]], "4", true],
  ] as const)("is %s", async (_name, actions, flavorid, right) => {
    const { store } = await memoryStore();
    addInstance(store, SERVER, { flavor: { ...FLAVOR, flavorid } });
    for (const [action, requestId, result = "Success"] of actions) {
      act(store, action, requestId, result as "Success" | "Error");
    }
    const all = [aServerRequest("create", { flavor: "1" }), resize("2", "req-1"), resize("4", null, "unknown")];
    expect(wrongFlavors(snapshotOf(store), all)).toHaveLength(right ? 0 : 1);
  });
});

describe("what was asked", () => {
  const aResponse = (status: number, body: unknown = {}): ObservedResponse => ({ status, body, requestId: "req-1" });

  it.each([
    [
      { method: "POST", path: "/servers", body: { server: { flavorRef: "2" } } },
      aResponse(202, { server: { id: SERVER } }),
      aServerRequest("create", { flavor: "2", requestId: "req-1" }),
    ],
    [{ method: "POST", path: "/servers", body: { server: {} } }, null, null],
    [
      { method: "DELETE", path: `/servers/${SERVER}` },
      aResponse(204),
      aServerRequest("delete", { requestId: "req-1" }),
    ],
    [
      { method: "DELETE", path: `/servers/${SERVER}` },
      aResponse(404),
      aServerRequest("delete", { outcome: "unknown", requestId: "req-1" }),
    ],
    [
      { method: "POST", path: `/servers/${SERVER}/action`, body: { resize: { flavorRef: "3" } } },
      aResponse(409),
      aServerRequest("resize", { outcome: "refused", flavor: "3", requestId: "req-1" }),
    ],
    [{ method: "GET", path: "/os-services" }, aResponse(200), null],
  ])("of %j", (sent, response, expected) => {
    expect(toServerRequest(sent, response)).toEqual(expected);
  });
});
