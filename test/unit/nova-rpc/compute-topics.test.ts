import { describe, expect, it } from "vitest";
import { AGENT_METHODS } from "../../../src/conductor-client/methods/agent.js";
import type { AgentHandlers } from "../../../src/conductor-client/port.js";
import { openMessage } from "../../../src/nova-rpc/messages/oslo-message.js";
import { novaObject } from "../../../src/nova-rpc/objects/primitive.js";
import { NEWEST_PROFILE } from "../../../src/nova-rpc/objects/profile.js";
import type { MemoryBroker } from "../../fixtures/memory-broker.js";
import { caller, connect, INSTANCE, open, UUID, usual } from "../../fixtures/nova-session-harness.js";
import type { ConductorRequest } from "../../fixtures/scripted-conductor.js";

const FLAMINGO = 70;
const GAZPACHO = 72;
const NEWEST = NEWEST_PROFILE.serviceVersion;

/** Scripts a conductor whose oldest nova-compute has this service version. */
function withOldestCompute(version: number) {
  return (request: ConductorRequest): unknown =>
    request.what === "Service.get_minimum_version" ? version : usual(request);
}

/** Creates handlers that record their methods and parameters. */
function recording(methods: readonly string[] = Object.keys(AGENT_METHODS)) {
  const called: string[] = [];
  const calls: unknown[] = [];
  const handlers = Object.fromEntries(
    methods.map((method) => [
      method,
      async (params: unknown) => {
        called.push(method);
        calls.push(params);
        return null;
      },
    ]),
  ) as Partial<AgentHandlers>;
  return { called, calls, handlers };
}

function readers(broker: MemoryBroker): readonly string[] {
  return broker
    .queueNames()
    .filter((queue) => queue.startsWith("compute") && broker.readersOf(queue) > 0)
    .map((queue) => queue.replace(/[0-9a-f]{32}$/, "ID"))
    .sort();
}

const STOP = { method: "stop_instance", args: { instance: INSTANCE, clean_shutdown: true } };
const SHARED_STORAGE = { method: "check_instance_shared_storage", args: { data: { instance_uuid: UUID } } };

describe("the topics of compute RPC", () => {
  it.each([
    ["before 6.5", FLAMINGO, ["compute", "compute.h", "compute_fanout_ID"]],
    [
      "from 6.5 on",
      GAZPACHO,
      ["compute", "compute-alt", "compute-alt.h", "compute-alt_fanout_ID", "compute.h", "compute_fanout_ID"],
    ],
  ])("are those of the release that the conductor has: %s", async (_, serviceVersion, queues) => {
    const { session, broker } = await open(usual, serviceVersion);
    await session.serve(recording().handlers);
    expect(readers(broker)).toEqual(queues);
    await session.stopServing();
    expect(readers(broker)).toEqual([]);
  });

  it("carry the same methods", async () => {
    const { session, runtime, broker } = await open(usual, NEWEST);
    const { called, handlers } = recording();
    await session.serve(handlers);
    const { send, replies } = await caller(broker);
    await send({ ...SHARED_STORAGE, topic: "compute-alt" });
    await send({ ...STOP, topic: "compute-alt" });
    await send({ ...STOP, uniqueId: "another" });
    await runtime.runUntil(() => replies.length === 3);
    expect(called.toSorted()).toEqual(["check_instance_shared_storage", "stop_instance", "stop_instance"]);
    expect(replies.filter(({ failure }) => failure !== null)).toEqual([]);
  });

  it.each(["compute", "compute-alt"])(
    "carry external events: each power-update of %s reaches the agent, and no event of a network or volume",
    async (topic) => {
      const { session, runtime, broker } = await open(usual, NEWEST);
      const { calls, handlers } = recording(["external_instance_event"]);
      await session.serve(handlers);
      const { send, replies } = await caller(broker);
      const other = "22222222-2222-4222-8222-222222222222";
      const events = [
        { instance_uuid: UUID, name: "network-changed", tag: null, status: "completed" },
        { instance_uuid: UUID, name: "power-update", tag: "POWER_OFF", status: "completed" },
        { instance_uuid: UUID, name: "volume-extended", tag: other, status: "completed" },
        { instance_uuid: other, name: "power-update", tag: "POWER_ON", status: "completed" },
      ].map((event) => novaObject("InstanceExternalEvent", "1.5", event, []));
      await send({ method: "external_instance_event", args: { instances: [INSTANCE], events }, topic });
      await runtime.runUntil(() => replies.length === 1);
      expect(replies).toMatchObject([{ result: null, failure: null }]);
      expect(calls).toEqual([
        { instanceUuid: UUID, events: [{ name: "power-update", tag: "POWER_OFF", status: "completed" }] },
        { instanceUuid: other, events: [{ name: "power-update", tag: "POWER_ON", status: "completed" }] },
      ]);
    },
  );

  it.each([
    [FLAMINGO, FLAMINGO, "compute.other"],
    [NEWEST, FLAMINGO, "compute.other"],
    [NEWEST, GAZPACHO, "compute-alt.other"],
  ])("are chosen by the conductor (%i) and the oldest nova-compute (%i): %s", async (version, oldest, queue) => {
    const { connection, session, runtime, broker, requests } = await open(withOldestCompute(oldest), version);
    const { handlers, called } = recording();
    await connection.host("other", { lease: false }).serve(handlers);
    const ask = () =>
      runtime.runUntil(session.callAgent("other", "check_instance_shared_storage", { instanceUuid: UUID, token: {} }));
    await ask();
    await ask();
    expect(called).toHaveLength(2);
    const sent = broker.published.flatMap(({ routingKey, body }) => {
      const message = openMessage(body);
      return message.kind === "request" && message.method === "check_instance_shared_storage" ? [routingKey] : [];
    });
    expect(sent).toEqual([queue, queue]);
    const questions = () => requests.filter(({ what }) => what === "Service.get_minimum_version").length;
    expect(questions()).toBe(version === FLAMINGO ? 0 : 1);
    await runtime.advance(3_600_000);
    await ask();
    expect(questions(), "the answer is used for an hour").toBe(version === FLAMINGO ? 0 : 2);
  });

  it("carry a share's request: its mapping is recorded as failed", async () => {
    const { session, runtime, broker, requests } = await open(
      (each) => (each.what === "ShareMapping.save" ? [{ obj_what_changed: [] }, null] : usual(each)),
      NEWEST,
    );
    await session.serve(recording().handlers);
    const { send, replies } = await caller(broker);
    const mapping = { id: 1, uuid: UUID, instance_uuid: UUID, share_id: UUID, status: "attaching", tag: "data" };
    const share_mapping = novaObject("ShareMapping", "1.2", mapping, []);
    await send({ method: "allow_share", args: { instance: INSTANCE, share_mapping } });
    await runtime.runUntil(() => replies.length > 0);
    expect(requests.at(-1)).toMatchObject({ what: "ShareMapping.save", changes: { status: "error" } });
    expect(JSON.parse(replies[0]?.failure ?? "{}")).toMatchObject({ class: "NotImplementedError" });
  });
});

describe("a host that shuts down", () => {
  it.each([
    ["with a move under way", recording(["finish_resize"]).handlers],
    ["without a move", null],
  ])("reads only the alternate topic since 6.5, with all methods; other casts wait: %s", async (_, draining) => {
    const { connection, session, runtime, broker } = await open(usual, NEWEST);
    const { called, handlers } = recording();
    await session.serve(handlers);
    await session.drain(draining);
    expect(readers(broker)).toEqual(["compute-alt", "compute-alt.h", "compute-alt_fanout_ID"]);
    const { send } = await caller(broker);
    await send(STOP);
    await send({ ...SHARED_STORAGE, topic: "compute-alt" });
    await runtime.advance(1_000);
    expect(called).toEqual(["check_instance_shared_storage"]);
    await session.close();
    expect(readers(broker)).toEqual([]);
    const next = recording();
    await connection.host("h", { lease: false }).serve(next.handlers);
    await runtime.advance(1_000);
    expect(next.called).toEqual(["stop_instance"]);
  });

  it.each([
    ["its process ends as asked", (session: { close(): Promise<void> }) => session.close()],
    ["its process is killed", (session: { kill(): Promise<void> }) => session.kill()],
  ])("before 6.5 leaves casts that end no move to the next process, if %s", async (_, end) => {
    const { connection, session, runtime, broker } = await open(usual, FLAMINGO);
    await session.serve(recording().handlers);
    const draining = recording(["check_instance_shared_storage"]);
    await session.drain(draining.handlers);
    const { send } = await caller(broker);
    await send(STOP);
    await send(SHARED_STORAGE);
    await runtime.advance(1_000);
    expect(draining.called).toEqual(["check_instance_shared_storage"]);
    await end(session);
    const next = recording();
    await connection.host("h", { lease: false }).serve(next.handlers);
    await runtime.advance(1_000);
    expect(next.called).toEqual(["stop_instance"]);
  });
});

describe("the lease of a host", () => {
  it("waits for a nova-compute that shuts down and still reads the alternate topic", async () => {
    const { broker, connection, runtime } = await open(usual, NEWEST);
    const queue = { name: "compute-alt.h", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    const shuttingDown = broker.connect();
    await shuttingDown.consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    const session = connection.host("h");
    await expect(runtime.runUntil(session.acquireLease())).rejects.toThrow("queue compute-alt.h is read by another");
    await shuttingDown.close();
    await runtime.runUntil(session.acquireLease());
    expect(session.leaseHeld).toBe(true);
  });

  it("covers the alternate topic: no nova-compute can read it at the same time, and it is not served without the lease", async () => {
    const { broker, connection, runtime } = await open(usual, NEWEST);
    const session = connection.host("h");
    await runtime.runUntil(session.acquireLease());
    await session.serve(recording().handlers);
    const queue = { name: "compute-alt.h", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    const real = broker.connect();
    const reads = real.consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    await expect(reads).rejects.toMatchObject({ code: "ACCESS_REFUSED" });
    await session.close();
    await real.consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    const other = connect(broker, runtime).host("h", { lease: false });
    await expect(runtime.runUntil(other.serve(recording().handlers))).resolves.toBeUndefined();
  });
});
