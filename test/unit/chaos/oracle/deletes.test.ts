import { expect, test } from "vitest";
import { lostDeletes } from "../../../chaos/oracle/deletes.js";
import { addInstance, memoryStore, uuidOf } from "../../control-plane/store/support.js";

const SERVER = uuidOf(1);

test.each([
  [["delete"], true],
  [["delete", "lock", "unlock"], true],
  [["delete", "reboot"], false],
  [["delete", "rebuild"], false],
  [["delete", "rebuild fine", "reboot"], true],
  [["rebuild fine", "delete", "reboot"], false],
  [["delete cut"], true],
  [["delete cut", "rebuild fine", "reboot fine"], true],
  [["delete fine", "rebuild fine"], false],
])("a delete that has failed, of a server to which %j was done: asked for again: %s", async (actions, again) => {
  const { store } = await memoryStore();
  addInstance(store, SERVER, { vmState: "error", taskState: null });
  for (const [action = "", ends] of actions.map((text) => text.split(" "))) {
    const request = { instanceUuid: SERVER, requestId: `req-${action}` };
    store.actions.start({ action, ...request, userId: null, projectId: null });
    const event = store.actions.startEvent({ ...request, event: "any", host: null });
    if (ends !== "cut") {
      store.actions.finishEvent(event ?? expect.unreachable(), { result: ends === "fine" ? "Success" : "Error" });
    }
  }
  const retriedDeletes: string[] = [];
  const snapshot = { store, now: 0, guests: [], held: new Map(), providers: new Map() };
  const found = lostDeletes(snapshot, new Set([SERVER]), (uuid) => retriedDeletes.push(uuid));
  expect(found).toMatchObject([{ subject: SERVER }]);
  expect(retriedDeletes).toEqual(again ? [SERVER] : []);
});
