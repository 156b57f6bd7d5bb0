import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AGENT_METHODS } from "../../../../src/conductor-client/methods/agent.js";
import type { AgentHandlers } from "../../../../src/conductor-client/port.js";
import { MethodChecks } from "../../../../src/control-plane/conductor/method-checks.js";
import { novaObject } from "../../../../src/nova-rpc/objects/primitive.js";
import { REQUESTS } from "../../../../src/nova-rpc/transport/topology.js";
import { isObject } from "../../../../src/runtime/collections.js";
import { recordedPhases, recording } from "../../../fixtures/nova-recordings.js";
import { INSTANCE, open, UUID, usual } from "../../../fixtures/nova-session-harness.js";
import { property } from "../../../fixtures/property.js";
import type { ConductorRequest } from "../../../fixtures/scripted-conductor.js";

type Message = Readonly<Record<string, unknown>>;

const CHECKS = new MethodChecks(AGENT_METHODS);
/** The recorded messages to a nova-compute, one for each method. */
const RECORDED = new Map(
  recordedPhases("zed")
    .flatMap((phase) => recording("zed", phase))
    .filter(({ key, kind }) => key?.startsWith("compute.") && kind !== "reply")
    .map(({ msg }) => [String(msg.method), msg as Message]),
);

/** A replacement for a part of a message: a value of another type, or nothing. */
const wrong = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(null, true, -1, 1e308, 0.5, "", "x", [], {}, [[]], { "nova_object.name": "Instance" }),
  fc.jsonValue({ maxDepth: 2 }),
);
/** The path of the replaced part: at each level the index of a member. */
const place = fc.array(fc.nat(), { minLength: 1, maxLength: 7 });
const spoiling = fc.array(fc.tuple(place, wrong), { minLength: 1, maxLength: 3 });

function spoilt(value: unknown, [index = 0, ...deeper]: readonly number[], replacement: unknown): unknown {
  const entries: [string, unknown][] = isObject(value) || Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) {
    return replacement;
  }
  const at = index % entries.length;
  const changed = entries.map(([key, item], each): [string, unknown] =>
    each === at ? [key, deeper.length === 0 ? replacement : spoilt(item, deeper, replacement)] : [key, item],
  );
  return Array.isArray(value) ? changed.map(([, item]) => item) : Object.fromEntries(changed);
}

const MIGRATION = { id: 3, uuid: "m", instance_uuid: UUID, migration_type: "live-migration", status: "running" };

const LIST = novaObject("MigrationList", "1.5", {
  objects: [novaObject("Migration", "1.7", { ...MIGRATION, dest_compute: "h" })],
});

function respond(request: ConductorRequest): unknown {
  switch (request.what) {
    case "Migration.save":
      return [{ ...MIGRATION, ...request.changes }, null];
    case "MigrationList.get_by_filters":
      return LIST;
    default:
      return usual(request);
  }
}

async function serving() {
  const { session, runtime, broker, connection } = await open(respond);
  const rejections: string[] = [];
  const taken: string[] = [];
  const handlers = Object.keys(AGENT_METHODS).map((method) => [
    method,
    async (params: unknown) => {
      taken.push(method);
      try {
        CHECKS.checkParams(method as keyof typeof AGENT_METHODS, params);
      } catch (error) {
        rejections.push(`${method}: ${error}`);
      }
      return {};
    },
  ]);
  await runtime.runUntil(session.serve(Object.fromEntries(handlers) as AgentHandlers));
  const replies: string[] = [];
  const caller = broker.connect();
  const queue = { name: "reply_me", durable: false, autoDelete: false, exclusive: false, arguments: {} };
  await caller.consume(
    { queue, exchanges: [], bindings: [], exclusive: false },
    { message: (text) => replies.push(text) },
  );
  const send = (message: Message) => {
    const body = JSON.stringify({ "oslo.version": "2.0", "oslo.message": JSON.stringify(message) });
    return caller.publish({ exchange: REQUESTS, routingKey: "compute.h", body, expiration: null });
  };
  return { runtime, connection, send, replies: replies, rejections: rejections, taken };
}

let calls = 0;
/** Converts the message to a call whose reply is received here. */
function asCall(message: Message): Message {
  calls += 1;
  return { ...message, _msg_id: `m${calls}`, _reply_q: "reply_me", _timeout: null, _unique_id: `u${calls}` };
}

describe("a response with invalid parts", () => {
  const node = { host: "h", node: "n" };
  const all = { filters: { instanceUuid: UUID } };

  property([spoiling, fc.constantFrom<unknown>(INSTANCE, LIST, [MIGRATION, null], null)], { numRuns: 200 })(
    "is the end of its call, and of nothing else",
    async (changes, right) => {
      const wrongReply = changes.reduce((now: unknown, [at, value]) => spoilt(now, at, value), right);
      const { session, runtime } = await open(() => wrongReply);
      const calls: readonly Promise<unknown>[] = [
        session.call("service_get_by_host", { host: "h", binary: "nova-compute" }),
        session.call("compute_node_get_by_host_and_node", node),
        session.call("compute_nodes_by_host", { host: "h" }),
        session.call("instance_get", { uuid: UUID }),
        session.call("instances_by_host_and_node", node),
        session.call("instance_save", { uuid: UUID, changes: { taskState: null }, expectedHost: "h" }),
        session.call("migration_get", { id: 3 }),
        session.call("migrations_by_filters", all),
        session.call("migration_save", { id: 3, changes: { status: "done" }, expectedStatus: ["running"] }),
        session.call("instance_actions", { instanceUuid: UUID }),
        session.call("server_group_on_host", { instanceUuid: UUID, ...node }),
      ];
      const outcomes = await runtime.runUntil(Promise.allSettled(calls));
      for (const outcome of outcomes) {
        expect(outcome.status === "rejected" ? outcome.reason : new Error("none")).toBeInstanceOf(Error);
      }
    },
  );
});

describe("a message with invalid parts", () => {
  property([fc.constantFrom(...RECORDED.keys()), spoiling], { numRuns: 200 })(
    "gets a response, passes no invalid value to the agent, and does not affect the next message",
    async (method, changes) => {
      const { runtime, connection, send, replies, rejections, taken } = await serving();
      const message = RECORDED.get(method) ?? {};
      const args = changes.reduce((now: unknown, [at, value]) => spoilt(now, at, value), message.args);
      await send(asCall({ ...message, args }));
      await runtime.runUntil(() => replies.length > 0, { limit: 120_000 });
      expect(rejections).toEqual([]);
      taken.length = 0;
      await send(asCall({ method: "set_host_enabled", version: "6.0", args: { enabled: true } }));
      await runtime.runUntil(() => replies.length > 1);
      expect(taken).toEqual(["set_host_enabled"]);
      await runtime.runUntil(connection.close());
    },
  );

  it("may have unknown fields and arguments", async () => {
    for (const [method, message] of RECORDED) {
      const { runtime, send, replies, rejections, taken } = await serving();
      const unknown = { nonsense: { deep: [1, null] } };
      const args = Object.fromEntries(
        Object.entries(message.args as Message).map(([name, value]) => [
          name,
          isObject(value) && isObject(value["nova_object.data"])
            ? { ...value, ...unknown, "nova_object.data": { ...value["nova_object.data"], ...unknown } }
            : value,
        ]),
      );
      await send(asCall({ ...message, ...unknown, args: { ...args, ...unknown } }));
      await runtime.runUntil(() => replies.length > 0);
      expect(rejections, method).toEqual([]);
      expect(JSON.parse(JSON.parse(replies[0] ?? "")["oslo.message"]).failure, method).toBeNull();
      expect(taken.length, method).toBe(1);
    }
  });

  it("may have a size of five megabytes", async () => {
    const { runtime, send, replies, rejections, taken } = await serving();
    const message = RECORDED.get("build_and_run_instance") ?? {};
    const args = message.args as Readonly<Record<string, { "nova_object.data": Message }>>;
    const data = { ...args.instance?.["nova_object.data"], user_data: "x".repeat(5_000_000) };
    await send(asCall({ ...message, args: { ...args, instance: { ...args.instance, "nova_object.data": data } } }));
    await runtime.runUntil(() => replies.length > 0);
    expect(rejections).toEqual([]);
    expect(taken).toEqual(["build_and_run_instance"]);
  });
});
