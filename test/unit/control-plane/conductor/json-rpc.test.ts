import { describe, expect, test } from "vitest";
import { CONDUCTOR_PATH, PROTOCOL_VERSION } from "../../../../src/conductor-client/wire.js";
import { readFrame } from "../../../../src/control-plane/conductor/session.js";
import { UpgradeRejectedError } from "../../../../src/runtime/sockets.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { startInProcessConductor } from "../../../fixtures/in-process-conductor.js";
import { aFlavor } from "../../../fixtures/records.js";
import { rawClient } from "./raw-client.js";

function error(id: unknown, code: number, message: unknown = expect.any(String)) {
  return {
    jsonrpc: "2.0",
    id,
    error: expect.objectContaining({ code, message }),
  };
}

const service = { host: "h", binary: "nova-compute", topic: "compute", version: 73, enableNewServices: true };

describe("JSON-RPC 2.0", () => {
  test("a request gets a response with its id", async () => {
    const { call } = await rawClient();
    expect(await call("text id", "service_minimum_version", { binary: "nova-compute" })).toEqual({
      jsonrpc: "2.0",
      id: "text id",
      result: 0,
    });
    expect(await call(null, "service_minimum_version", { binary: "x" })).toMatchObject({ id: null, result: 0 });
  });

  test("a notification is executed without a response", async () => {
    const { send, cluster } = await rawClient();
    expect(await send({ jsonrpc: "2.0", method: "service_create", params: service })).toEqual([]);
    expect(cluster.store.services.list()).toHaveLength(1);
    expect(await send({ jsonrpc: "2.0", method: "no_such_method" })).toEqual([]);
  });

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

  test("a batch gets a batch of responses, without its notifications", async () => {
    const { send } = await rawClient();
    const minimum = { jsonrpc: "2.0", method: "service_minimum_version", params: { binary: "nova-compute" } };
    const responses = await send([
      { jsonrpc: "2.0", id: 1, method: "service_create", params: service },
      minimum,
      { ...minimum, id: 2 },
      "junk",
      { ...minimum, id: 3, method: "placement_access", params: {} },
    ]);
    expect(responses).toEqual([
      [
        expect.objectContaining({ id: 1, result: expect.objectContaining({ host: "h" }) }),
        { jsonrpc: "2.0", id: 2, result: 73 },
        error(null, -32600),
        expect.objectContaining({ id: 3, result: expect.objectContaining({ token: "service-token" }) }),
      ],
    ]);
    expect(await send([minimum])).toEqual([]);
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

  test.each([
    ["instance_get", {}, "instance_get: params.uuid: found nothing, expected a value"],
    ["instance_get", { uuid: 5 }, "instance_get: params.uuid: found 5, expected string"],
    ["instance_get", { uuid: "x" }, 'instance_get: params.uuid: found "x", expected a UUID'],
    ["service_report_state", { id: "1" }, 'service_report_state: params.id: found "1", expected integer'],
    ["service_report_state", { id: 1, x: 1 }, "service_report_state: params.x: unknown field, expected one of id"],
    [
      "instance_save",
      { uuid: "00000000-0000-4000-8000-000000000001", changes: { vmState: "sleeping" } },
      /^instance_save: params\.changes\.vmState: found "sleeping", expected one of building, active, /,
    ],
    [
      "instance_save",
      { uuid: "00000000-0000-4000-8000-000000000001", changes: { vcpus: 1e30 } },
      "instance_save: params.changes.vcpus: found 1e+30, expected a value that must be <= 2147483647",
    ],
    [
      "instance_save",
      { uuid: "00000000-0000-4000-8000-000000000001", changes: { deleted: 1 } },
      /^instance_save: params\.changes\.deleted: unknown field/,
    ],
    [
      "compute_node_save",
      { id: 1, changes: { uuid: "00000000-0000-4000-8000-000000000001" } },
      /^compute_node_save: params\.changes\.uuid: unknown field/,
    ],
    [
      "agent_cast",
      { host: "h", method: "explode", params: {} },
      /params\.method: found "explode", expected one of build_/,
    ],
    ["agent_cast", { host: "h", method: "terminate_instance", params: {} }, /params\.instanceUuid: found nothing/],
  ])("%s with wrong parameters names the field, what was found and what was expected", async (method, params, text) => {
    const { call, cluster } = await rawClient();
    expect(await call(1, method, params)).toEqual(
      error(1, -32602, typeof text === "string" ? text : expect.stringMatching(text)),
    );
    expect(cluster.store.messages.pending("h")).toEqual([]);
  });

  test("errors have OpenStack's name", async () => {
    const { call } = await rawClient();
    expect(await call(1, "service_report_state", { id: 99 })).toMatchObject({
      error: { code: -32000, data: { name: "ServiceNotFound", details: { id: 99 } } },
    });
  });
});

describe("exactly once", () => {
  test("a repeated call gets the first reply, including errors", async () => {
    const { call, cluster } = await rawClient();
    const first = await call(1, "service_create", service);
    const rejection = await call(2, "service_create", service);
    expect(rejection).toMatchObject({ error: { data: { name: "ServiceBinaryExists" } } });
    expect(await call(1, "service_create", service)).toEqual(first);
    cluster.store.services.destroy(1);
    expect(await call(2, "service_create", service)).toEqual(rejection);
    expect(cluster.store.services.list()).toEqual([]);
  });

  test("only acknowledged replies are deleted", async () => {
    const { call, cluster } = await rawClient();
    await call(1, "service_create", service);
    await call(2, "service_report_state", { id: 1 });
    const bootId = "00000000-0000-4000-8000-00000000b007";
    expect(cluster.store.messages.findReply(bootId, 1)).not.toBeNull();
    await call("p", "session_ping", {}, { ack: 1 });
    expect(cluster.store.messages.findReply(bootId, 1)).toBeNull();
    expect(cluster.store.messages.findReply(bootId, 2)).not.toBeNull();
    await call(3, "service_report_state", { id: 1 }, { ack: 2 });
    expect(cluster.store.messages.findReply(bootId, 2)).toBeNull();
  });

  test("save_together writes both or none", async () => {
    const { call, cluster } = await rawClient();
    const { store } = cluster;
    const uuid = "00000000-0000-4000-8000-000000000001";
    store.instances.create({
      uuid,
      projectId: "p",
      userId: "u",
      displayName: "vm",
      hostname: "vm",
      reservationId: "r",
      imageRef: "",
      flavor: aFlavor(),
    });
    const instance = { uuid, changes: { vmState: "active" } };
    const failed = await call(1, "save_together", { instance, migration: { id: 9, changes: { status: "done" } } });
    expect(failed).toMatchObject({ error: { data: { name: "MigrationNotFound" } } });
    expect(store.instances.get(uuid)?.vmState).toBe("building");
    const { id } = store.migrations.create({ instanceUuid: uuid, migrationType: "evacuation", status: "accepted" });
    expect(await call(2, "save_together", { instance, migration: { id, changes: { status: "done" } } })).toMatchObject({
      result: { instance: { vmState: "active" }, migration: { status: "done" } },
    });
    expect(await call(3, "save_together", {})).toMatchObject({ result: { instance: null, migration: null } });
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

  test("before session_hello nothing is executed, and without it the connection is closed", async () => {
    const { call, closed, world } = await rawClient({ hello: false });
    expect(await call(1, "service_create", service)).toMatchObject({
      error: { data: { name: "UnsupportedProtocol" } },
    });
    await world.advance(13_000);
    expect(closed).toEqual([{ code: 1006, reason: "" }]);
  });

  test("another protocol version is rejected", async () => {
    const { call } = await rawClient({ hello: false });
    const protocol = PROTOCOL_VERSION + 1;
    const hello = { protocol, bootId: "00000000-0000-4000-8000-000000000001", pid: 1, machine: "m", version: "v" };
    expect(await call(1, "session_hello", hello)).toMatchObject({
      error: {
        message: expect.stringContaining(`protocol version ${protocol}, this conductor supports versions 1 to`),
      },
    });
  });

  test("a connection belongs to one boot", async () => {
    const { call } = await rawClient();
    const hello = { protocol: 1, bootId: "00000000-0000-4000-8000-000000000001", pid: 1, machine: "m", version: "v" };
    expect(await call(1, "session_hello", hello)).toMatchObject({
      error: { message: expect.stringContaining("belongs to another boot") },
    });
  });

  test("a silent client is disconnected", async () => {
    const { closed, world, cluster } = await rawClient();
    await world.advance(9_000);
    expect(cluster.conductor.connections).toBe(1);
    await world.advance(4_000);
    expect(closed).toEqual([{ code: 1006, reason: "" }]);
    expect(cluster.conductor.connections).toBe(0);
  });

  test("a client that does not read is disconnected", async () => {
    const { world, cluster, socket, closed } = await rawClient({ conductor: { limits: { bufferedBytes: 10_000 } } });
    world.network.latency = 1_000;
    for (let index = 0; index < 200; index += 1) {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: index, method: "placement_access", params: {} }));
    }
    await world.advance(3_000);
    expect(cluster.conductor.connections).toBe(0);
    expect(closed).toHaveLength(1);
  });

  test("too many pending calls are rejected", async () => {
    const { send, call } = await rawClient({ conductor: { limits: { callsUnderWay: 2 }, placementAccess: forever } });
    const access = { jsonrpc: "2.0", method: "placement_access", params: {} };
    await send({ ...access, id: 1 });
    await send({ ...access, id: 2 });
    expect(await call(3, "placement_access", {})).toMatchObject({ error: { data: { name: "OverLimit" } } });
  });
});

function forever(): Promise<never> {
  return new Promise(() => {});
}
