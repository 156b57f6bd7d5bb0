import { describe, expect, test } from "vitest";
import { CONDUCTOR_PATH } from "../../../../src/conductor-client/wire.js";
import { readFrame } from "../../../../src/control-plane/conductor/session.js";
import { UpgradeRejectedError } from "../../../../src/runtime/sockets.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { startInProcessConductor } from "../../../fixtures/in-process-conductor.js";
import { rawClient } from "./raw-client.js";

function error(id: unknown, code: number, message: unknown = expect.any(String)) {
  return {
    jsonrpc: "2.0",
    id,
    error: expect.objectContaining({ code, message }),
  };
}

describe("JSON-RPC 2.0", () => {
  test.each<readonly [error: unknown, data: unknown]>([
    [
      { code: -32000, message: "m", data: { name: "N", details: { id: 1 } } },
      { name: "N", details: { id: 1 } },
    ],
    ...["text", null, [1]].map((details) => [{ data: { name: "N", details } }, { name: "N", details: {} }] as const),
    [{ data: { name: 5, details: {} } }, undefined],
    [{ data: "text" }, undefined],
    ["text", undefined],
  ])("the error of a response, %j: its data is %j", (error, data) => {
    const { code = -32603, message = expect.any(String) } = error as { code?: number; message?: string };
    const response = { id: 1, error: { code, message, ...(data ? { data } : {}) } };
    expect(readFrame(JSON.stringify({ jsonrpc: "2.0", id: 1, error }))).toEqual({ kind: "response", response });
  });
  test.each([
    ["{", null, -32700],
    ["", null, -32700],
    ["null", null, -32600],
    ["[]", null, -32600],
    ["5", null, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"x"}', 1, -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"x"}', null, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', 1, -32600],
    ['{"jsonrpc":"2.0","id":1}', 1, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"session_ping","params":[]}', 1, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"session_ping","meta":{"hosts":"x"}}', 1, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"session_ping","meta":{"ack":"x"}}', 1, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"no_such_method"}', 1, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"toString"}', 1, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"__proto__"}', 1, -32601],
    ['{"jsonrpc":"2.0","id":"a","method":"service_report_state","params":{"id":1}}', "a", -32600],
    [`${"[".repeat(500_000)}`, null, -32600],
    [`{"jsonrpc":"2.0","id":1,"method":"session_ping","params":{"a":[${"1,".repeat(30_000)}1]}}`, null, -32600],
    [`[${"1,".repeat(100)}1]`, null, -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"service_report_state","params":{"id":1}}', 1.5, -32600],
  ])("%s is refused", async (frame, id, code) => {
    const { send } = await rawClient();
    expect(await send(frame)).toEqual([error(id, code)]);
  });
});
describe("the connection", () => {
  test.each([
    undefined,
    "",
    "Bearer",
    "Bearer wrong",
    "Basic join-token-of-the-tests",
    "Bearer join-token-of-the-test",
  ])("%s is refused with 401 and a reason", async (authorization) => {
    const world = new VirtualWorld();
    const { url } = await startInProcessConductor(world);
    const headers = authorization === undefined ? {} : { authorization };
    const { sockets } = world.spawn();
    const rejectedUpgrade = sockets.connect(url.replace("http", "ws") + CONDUCTOR_PATH, { headers });
    await expect(world.runUntil(rejectedUpgrade)).rejects.toThrow(UpgradeRejectedError);
    await expect(rejectedUpgrade).rejects.toMatchObject({ status: 401, body: /join token is missing or wrong/ });
  });
});
