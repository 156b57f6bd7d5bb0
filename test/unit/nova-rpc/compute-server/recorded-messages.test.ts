import { describe, expect, it, onTestFinished } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { AGENT_METHODS } from "../../../../src/conductor-client/methods/agent.js";
import type { AgentHandlers } from "../../../../src/conductor-client/port.js";
import { errorOf, failureOf } from "../../../../src/nova-rpc/messages/failures.js";
import { novaObject } from "../../../../src/nova-rpc/objects/primitive.js";
import { REQUESTS } from "../../../../src/nova-rpc/transport/topology.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { MemoryBroker } from "../../../fixtures/memory-broker.js";
import {
  RECORDED_VERSIONS,
  type RecordedRelease,
  recordedFailures,
  recordedPhases,
  recording,
} from "../../../fixtures/nova-recordings.js";
import { connectInMemory, scriptConductor } from "../../../fixtures/scripted-conductor.js";

interface Taken {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Serves a host whose handlers only record their calls. */
async function serving(host: string, release: RecordedRelease) {
  const runtime = createVirtualRuntime();
  const broker = new MemoryBroker();
  const migrations = novaObject("MigrationList", "1.5", {
    objects: [
      novaObject("Migration", "1.7", {
        id: 77,
        uuid: "m",
        instance_uuid: "u",
        migration_type: "live-migration",
        status: "running",
        dest_compute: host,
      }),
    ],
  });
  const row = { id: 1, uuid: "m", instance_uuid: "u", migration_type: "migration", status: "pre-migrating" };
  await scriptConductor(broker, ({ what }) => (what === "MigrationList.get_by_filters" ? migrations : [row, null]), {
    serviceVersion: RECORDED_VERSIONS[release],
  });
  const connection = connectInMemory(broker, runtime);
  onTestFinished(() => runtime.runUntil(connection.close()));
  await runtime.runUntil(connection.connected());
  const session = connection.host(host, { lease: false });
  const taken: Taken[] = [];
  const handlers = Object.keys(AGENT_METHODS).map((method) => [
    method,
    async (params: Taken["params"]) => {
      taken.push({ method, params });
      return method === "set_host_enabled" ? "enabled" : {};
    },
  ]);
  await session.serve(Object.fromEntries(handlers) as AgentHandlers);
  return { runtime, broker, taken };
}

const HOST_QUEUE = /^compute(-alt)?\./;

const all = (["zed", "2025.1", "2026.2"] as const).flatMap((release) =>
  recordedPhases(release).map((phase) => [release, phase] as const),
);

describe("a recorded message of a real Nova to a nova-compute", () => {
  it.each(all)("is understood: %s %s", async (release, phase) => {
    const requests = recording(release, phase).filter(
      ({ key, kind }) => HOST_QUEUE.test(key ?? "") && kind !== "reply",
    );
    for (const { key = "", msg, kind } of requests) {
      const { runtime, broker, taken } = await serving(key.replace(HOST_QUEUE, ""), release);
      const body = JSON.stringify({ "oslo.version": "2.0", "oslo.message": JSON.stringify(msg) });
      const caller = broker.connect();
      const replies: string[] = [];
      const queue = {
        name: String(msg._reply_q ?? "nobody"),
        durable: false,
        autoDelete: false,
        exclusive: false,
        arguments: {},
      };
      await caller.consume(
        { queue, exchanges: [], bindings: [], exclusive: false },
        { message: (text) => replies.push(text) },
      );
      await caller.publish({ exchange: REQUESTS, routingKey: key, body, expiration: null });
      const isDone = () => (kind === "call" ? replies.length > 0 : taken.length > 0);
      await runtime.runUntil(isDone);
      const [first] = taken;
      // A failure here would affect every server of a cloud.
      expect(replies.map((text) => JSON.parse(JSON.parse(text)["oslo.message"]).failure)).toEqual(
        replies.map(() => null),
      );
      const instance = msg.args?.instance as { "nova_object.data": { uuid: string } } | undefined;
      if (instance !== undefined) {
        const { _context_request_id: requestId } = msg;
        expect(first?.params).toMatchObject({ instanceUuid: instance["nova_object.data"].uuid, requestId });
      }
      expect(first?.method).toBe(msg.method);
    }
  });

  /** Returns the parameters of the recorded build. */
  async function buildOf(phase: string) {
    const [build] = recording("zed", phase).filter(({ msg }) => msg.method === "build_and_run_instance");
    const { runtime, broker, taken } = await serving((build?.key ?? "").slice("compute.".length), "zed");
    const body = JSON.stringify({ "oslo.version": "2.0", "oslo.message": JSON.stringify(build?.msg) });
    await broker.connect().publish({ exchange: REQUESTS, routingKey: build?.key ?? "", body, expiration: null });
    await runtime.runUntil(() => taken.length > 0);
    return { build, params: taken[0]?.params };
  }

  it("contains the server group of its scheduling", async () => {
    expect((await buildOf("build-server-group")).params).toMatchObject({
      serverGroup: "f1d57a12-8e45-42c7-ac0a-866c4d095eff",
    });
    expect((await buildOf("build")).params).not.toHaveProperty("serverGroup");
  });

  it("is converted to the agent's parameters", async () => {
    const { build, params } = await buildOf("build-reschedule");
    expect(params).toMatchObject({
      allocations: null,
      node: build?.msg.args?.node,
      retry: { numAttempts: 1, hosts: [[expect.any(String), expect.any(String)]] },
      alternates: expect.arrayContaining([
        {
          host: expect.any(String),
          node: expect.any(String),
          computeNodeUuid: expect.any(String),
          allocationRequest: expect.any(Object),
          allocationRequestVersion: expect.any(String),
        },
      ]),
    });
  });
});

describe("failures", () => {
  it("that were recorded become the agent's error classes, with the fields that it reads", () => {
    const found = recordedFailures().map((failure) => {
      const { name, data } = errorOf(JSON.stringify(failure));
      const { class: nova, module, instance_uuid: _, ...read } = data;
      return [nova, name, read];
    });
    expect(found).toEqual([
      ["ComputeHostNotFound", "ComputeHostNotFound", {}],
      ["ConsoleTypeUnavailable", "ConductorError", {}],
      ["InstanceGroupNotFound", "ConductorError", {}],
      ["InstanceNotFound", "InstanceNotFound", {}],
      ["InstancePasswordSetFailed", "InstancePasswordSetFailed", { reason: expect.any(String) }],
      ["MigrationPreCheckError", "MigrationPreCheckError", { reason: expect.stringContaining("planted") }],
      ["NoValidHost", "ConductorError", { reason: expect.any(String) }],
      ["NovaException", "ConductorError", {}],
      ["ServiceNotFound", "ServiceNotFound", {}],
      [
        "UnexpectedDeletingTaskStateError",
        "UnexpectedDeletingTaskState",
        { expected: ["spawning"], actual: "deleting" },
      ],
      ["UnexpectedTaskStateError", "UnexpectedTaskState", { expected: ["resize_prep"], actual: null }],
    ]);
  });

  it.each([
    ["UnexpectedTaskStateError", "UnexpectedTaskState"],
    ["UnexpectedDeletingTaskStateError", "UnexpectedDeletingTaskState"],
    ["UnexpectedVMStateError", "UnexpectedVmState"],
    ["InstanceNotFound", "InstanceNotFound"],
    ["DBDuplicateEntry", "DuplicateRecord"],
    ["ServiceTooOld", "ServiceTooOld"],
    ["SomethingElse", "ConductorError"],
  ])("of class %s become %s", (name, ours) => {
    const failure = JSON.stringify({ class: name, module: "nova.exception", message: "text", tb: [], kwargs: {} });
    expect(errorOf(failure)).toMatchObject({ name: ours, data: { class: name } });
  });

  it("are sent under Nova's names, and received as the same classes", () => {
    const error = errorOf(JSON.stringify({ class: "UnexpectedTaskStateError", message: "text" }));
    expect(JSON.parse(failureOf(error))).toMatchObject({ class: "UnexpectedTaskStateError", module: "nova.exception" });
    expect(errorOf(failureOf(error)).name).toBe("UnexpectedTaskState");
  });

  it("contain the actual state, as with the agent's own conductor", () => {
    const kwargs = { expected: { task_state: ["migrating"] }, actual: { task_state: "soft-deleting" } };
    const failure = { class: "UnexpectedTaskStateError", module: "nova.exception", message: "text", kwargs };
    expect(errorOf(JSON.stringify(failure)).data).toMatchObject({ expected: ["migrating"], actual: "soft-deleting" });
    // Both values were expected, and neither was found.
    const both = { vm_state: "soft-delete", task_state: null };
    const of = (name: string) =>
      errorOf(JSON.stringify({ ...failure, class: name, kwargs: { actual: both } })).data.actual;
    expect(of("UnexpectedTaskStateError")).toBeNull();
    expect(of("UnexpectedVMStateError")).toBe("soft-delete");
    const actionError = new ConductorError("ObjectActionError", "the guest is not here", { reason: "no guest" });
    expect(errorOf(failureOf(actionError)), "a source goes by it").toMatchObject({
      name: "ObjectActionError",
      data: { reason: "no guest" },
    });
    expect(JSON.parse(failureOf(new Error("disk full")))).toMatchObject({
      class: "NovaException",
      message: "disk full",
    });
  });

  it.each(["", "no json", "[]", "null", "{}"])("that are %j do not stop the reader", (text) => {
    expect(errorOf(text)).toBeInstanceOf(Error);
  });
});
