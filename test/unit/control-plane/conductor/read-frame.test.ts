import { describe, expect, test } from "vitest";
import { readFrame } from "../../../../src/control-plane/conductor/session.js";

const read = (message: unknown) => readFrame(JSON.stringify(message));
const request = (more: object = {}) => ({ jsonrpc: "2.0", id: 1, method: "m", ...more });
function createRejection(id: unknown, code: number, message: string) {
  return {
    kind: "refused",
    response: { jsonrpc: "2.0", id, error: { code, message } },
  };
}

describe("a request", () => {
  test("gets defaults: empty parameters and meta; without an id it is a notification", () => {
    const filled = { id: 1, method: "m", params: {}, meta: {} };
    expect(read(request())).toEqual({ kind: "request", request: filled });
    expect(read({ jsonrpc: "2.0", method: "m" })).toEqual({ kind: "request", request: { ...filled, id: undefined } });
    const meta = { host: "h", requestId: "r", ack: -1, unfenced: false, message: 5, call: "b:1", timeout: 0 };
    const requestFields = { id: null, method: "m", params: { a: 1 }, meta };
    expect(read(request(requestFields))).toEqual({ kind: "request", request: requestFields });
    expect(read(request({ id: "text" }))).toMatchObject({ request: { id: "text" } });
  });

  test.each<[object, number, string]>([
    [{ jsonrpc: "1.0" }, -32600, 'jsonrpc: expected "2.0"'],
    [{ method: 5 }, -32600, "method: expected a string"],
    [{ params: [1] }, -32602, "params: expected an object with named parameters"],
    [{ params: null }, -32602, "params: expected an object with named parameters"],
    [{ meta: [] }, -32600, "meta: expected an object"],
    [{ meta: null }, -32600, "meta: expected an object"],
    [{ meta: { other: 1 } }, -32600, "meta.other: unknown, or of the wrong type"],
    [{ meta: { host: "h", ack: 1.5 } }, -32600, "meta.ack: unknown, or of the wrong type"],
  ])("with %j is refused by its id", (more, code, message) => {
    expect(read(request(more))).toEqual(createRejection(1, code, message));
  });

  test.each<[string, readonly unknown[], readonly unknown[]]>([
    ["host", ["h", "h".repeat(255)], ["", "a b", 5, null]],
    ["requestId", ["r", "r".repeat(255)], ["", "r".repeat(256), 5]],
    ["call", ["c"], ["", 5]],
    ["ack", [0, -1], ["1", 0.5]],
    ["message", [0, 7], ["1", 0.5]],
    ["unfenced", [true, false], [0, "true"]],
    ["timeout", [0, 1], [-1, 0.5, "1"]],
  ])("meta.%s", (field, good, bad) => {
    const kinds = (values: readonly unknown[]) =>
      values.map((value) => (read(request({ meta: { [field]: value } })) as { kind: string }).kind);
    expect(kinds(good)).toEqual(good.map(() => "request"));
    expect(kinds(bad)).toEqual(bad.map(() => "refused"));
  });
});

describe("a response", () => {
  test("has any result, or an error", () => {
    for (const result of [null, 0, { a: 1 }]) {
      expect(read({ jsonrpc: "2.0", id: 1, result })).toEqual({ kind: "response", response: { id: 1, result } });
    }
    const error = { code: -32000, message: "no", data: { name: "N", details: { a: 1 } } };
    expect(read({ jsonrpc: "2.0", id: null, error })).toEqual({ kind: "response", response: { id: null, error } });
    expect(read({ jsonrpc: "2.0", id: 1, error: {} })).toEqual({
      kind: "response",
      response: { id: 1, error: { code: -32603, message: "the agent returned an error without a message" } },
    });
  });

  test("without an id, or with a method, is not a response", () => {
    expect(read({ jsonrpc: "2.0", result: 1 })).toEqual(createRejection(null, -32600, "method: expected a string"));
    expect(read(request({ result: 1 }))).toMatchObject({ kind: "request" });
    expect(read({ jsonrpc: "2.0", id: 1 })).toEqual(createRejection(1, -32600, "method: expected a string"));
  });
});

describe("a frame", () => {
  test("is JSON, and one message or a list of them", () => {
    expect(readFrame("{")).toEqual(createRejection(null, -32700, "the frame is not JSON"));
    expect(read([request(), 5])).toEqual([
      { kind: "request", request: { id: 1, method: "m", params: {}, meta: {} } },
      createRejection(null, -32600, "a message is an object"),
    ]);
    for (const nothing of [null, "text", 5]) {
      expect(read(nothing)).toEqual(createRejection(null, -32600, "a message is an object"));
    }
    expect(read(request({ id: {} }))).toEqual(createRejection(null, -32600, "id: expected a string, a number or null"));
  });

  test("is a batch of 1 to 100 messages", () => {
    const batch = (length: number) => read(Array.from({ length }, () => request()));
    expect([batch(1), batch(100)].map((messages) => Array.isArray(messages) && messages.length)).toEqual([1, 100]);
    expect(batch(0)).toEqual(createRejection(null, -32600, "a batch has 1 to 100 messages; found 0"));
    expect(batch(101)).toEqual(createRejection(null, -32600, "a batch has 1 to 100 messages; found 101"));
  });

  test("that exceeds the limits is rejected before it is parsed", () => {
    expect(readFrame("[".repeat(500_000))).toMatchObject({
      kind: "refused",
      response: { id: null, error: { code: -32600 } },
    });
  });
});
