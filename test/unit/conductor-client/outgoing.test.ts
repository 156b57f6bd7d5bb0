import { expect, it } from "vitest";
import { Outgoing, WAITING_METHODS } from "../../../src/conductor-client/link.js";
import { CONDUCTOR_METHODS } from "../../../src/conductor-client/methods/conductor.js";
import { SESSION_METHODS } from "../../../src/conductor-client/methods/session.js";

function outgoing() {
  const sent: unknown[] = [];
  const tickActions: (() => void)[] = [];
  const out = new Outgoing({
    send: (text) => sent.push(JSON.parse(text)),
    afterTurn: (action) => tickActions.push(action),
  });
  const endTurn = () => {
    for (const action of tickActions.splice(0)) {
      action();
    }
  };
  return { out, sent, endTurn };
}

it("pending messages are sent at the end", () => {
  const { out, sent } = outgoing();
  out.add({ id: 1 });
  out.end();
  expect(sent).toEqual([{ id: 1 }]);
});

it("one message is sent as it is, several of one event-loop tick as an ordered batch", () => {
  const { out, sent, endTurn } = outgoing();
  out.add({ id: 1 });
  expect(sent).toEqual([]);
  endTurn();
  out.add({ id: 2 });
  out.add({ id: 3 });
  endTurn();
  expect(sent).toEqual([{ id: 1 }, [{ id: 2 }, { id: 3 }]]);
});

it("a waiting method is sent alone, after the messages before it", () => {
  const { out, sent, endTurn } = outgoing();
  out.add({ id: 1 });
  out.add({ id: 2, method: "agent_call" });
  out.add({ id: 3 });
  endTurn();
  expect(sent).toEqual([{ id: 1 }, { id: 2, method: "agent_call" }, { id: 3 }]);
});

it("a batch stays within the conductor's limits", () => {
  const { out, sent, endTurn } = outgoing();
  const large = "x".repeat(30_000);
  for (const message of [{ large }, { large }, { larger: "x".repeat(60_000) }]) {
    out.add(message);
  }
  for (let id = 0; id < 100; id += 1) {
    out.add({ id });
  }
  endTurn();
  expect(sent.map((frame) => (Array.isArray(frame) ? frame.length : 1))).toEqual([1, 1, 1, 64, 36]);
});

it("the waiting methods are those of the method tables", () => {
  const waiting = Object.entries({ ...CONDUCTOR_METHODS, ...SESSION_METHODS }).filter(
    ([, { kind }]) => kind === "waits" || kind === "asks",
  );
  expect([...WAITING_METHODS].sort()).toEqual(waiting.map(([name]) => name).sort());
});
