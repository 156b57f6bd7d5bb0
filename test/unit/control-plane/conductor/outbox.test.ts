import { beforeEach, describe, expect, test, vi } from "vitest";
import { AgentMessages } from "../../../../src/control-plane/conductor/agent-messages.js";
import { HostLeases } from "../../../../src/control-plane/conductor/host-leases.js";
import { notifyMoveEnd, Outbox } from "../../../../src/control-plane/conductor/outbox.js";
import type { Session } from "../../../../src/control-plane/conductor/session.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { MigrationChanges, MigrationStatus, MigrationType } from "../../../../src/records/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { anInstance } from "../../../fixtures/records.js";

const I = "cccccccc-0000-4000-8000-000000000001";

let runtime: ReturnType<typeof createVirtualRuntime>;
let store: Store;
let outbox: Outbox;
let leases: HostLeases;
let messages: AgentMessages;

beforeEach(() => {
  runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  outbox = new Outbox(store, runtime.logger);
  leases = new HostLeases(store, runtime.clock, 10_000);
  messages = new AgentMessages(store, outbox, leases);
});

interface PendingRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Creates a connection whose responses the test triggers. */
function connection() {
  const requests: PendingRequest[] = [];
  const session = {
    ask: (
      method: string,
      question: { readonly params: PendingRequest["params"]; readonly meta: PendingRequest["meta"] },
    ) => new Promise((resolve, reject) => requests.push({ method, ...question, resolve, reject })),
    notify: () => undefined,
    lastFrameAt: 0,
  };
  return { requests: requests, session: session as unknown as Session };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await Promise.resolve();
  }
}

function enqueue(count = 1, host = "h"): void {
  for (let each = 0; each < count; each += 1) {
    store.messages.enqueue({ host, method: "reboot_instance", params: `{"n":${each}}`, requestId: `req-${each}` });
  }
}

const numbers = (requests: readonly PendingRequest[]) => requests.map(({ params }) => params.n);

describe("casts", () => {
  test("waiting casts are sent in order to an agent that begins to serve, with host, request and number", async () => {
    enqueue(2);
    enqueue(1, "other");
    const { session, requests } = connection();
    expect(outbox.server("h")).toBeUndefined();
    outbox.serve("h", session);
    expect(outbox.server("h")).toBe(session);
    const ids = store.messages.pending("h").map(({ id }) => id);
    expect(requests).toMatchObject([
      { method: "reboot_instance", params: { n: 0 }, meta: { host: "h", requestId: "req-0", message: ids[0] } },
      { method: "reboot_instance", params: { n: 1 }, meta: { host: "h", requestId: "req-1", message: ids[1] } },
    ]);
    outbox.deliver("h");
    outbox.serve("h", session);
    expect(requests).toHaveLength(2);
  });

  test("are deleted when the agent acknowledges them, not when it rejects them", async () => {
    enqueue(2);
    const { session, requests } = connection();
    outbox.serve("h", session);
    requests[0]?.reject(new Error("busy"));
    requests[1]?.resolve(null);
    await settle();
    expect(store.messages.pending("h").map(({ requestId }) => requestId)).toEqual(["req-0"]);
    const again = connection();
    outbox.serve("h", again.session);
    expect(numbers(again.requests)).toEqual([0]);
  });

  test("are deleted in one write when acknowledged in one frame, and stay if that fails", async () => {
    enqueue(4);
    const { session, requests } = connection();
    outbox.serve("h", session);
    const taken = vi.spyOn(store.messages, "taken");
    requests[0]?.resolve(null);
    requests[1]?.resolve(null);
    await settle();
    taken.mockImplementationOnce(() => {
      throw new Error("the disk is full");
    });
    requests[2]?.resolve(null);
    await settle();
    requests[3]?.resolve(null);
    await settle();
    expect(taken.mock.calls.map(([ids]) => ids.length)).toEqual([2, 1, 1]);
    expect(store.messages.pending("h").map(({ requestId }) => requestId)).toEqual(["req-2"]);
  });

  test("are sent 64 at a time, the next one after each acknowledgement", async () => {
    enqueue(70);
    const { session, requests } = connection();
    outbox.serve("h", session);
    expect(numbers(requests)).toEqual(Array.from({ length: 64 }, (_, index) => index));
    outbox.deliver("h");
    expect(requests).toHaveLength(64);
    requests[3]?.resolve(null);
    await settle();
    expect(numbers(requests).slice(64)).toEqual([64]);
    requests[0]?.resolve(null);
    requests[1]?.resolve(null);
    await settle();
    expect(numbers(requests).slice(64)).toEqual([64, 65, 66]);
  });

  test("are not sent without a serving agent", () => {
    enqueue();
    outbox.deliver("h");
    expect(store.messages.pending("h")).toHaveLength(1);
  });

  test("an acknowledgement counts even if another connection serves by now; nothing is sent on the old one", async () => {
    enqueue(65);
    const [old, young] = [connection(), connection()];
    outbox.serve("h", old.session);
    outbox.serve("h", young.session);
    expect(young.requests).toHaveLength(64);
    old.requests[0]?.resolve(null);
    await settle();
    expect(store.messages.pending("h")[0]?.requestId).toBe("req-1");
    expect([old.requests.length, young.requests.length]).toEqual([64, 64]);
  });

  test("stop only when the connection stops serving or ends", () => {
    const [mine, others] = [connection(), connection()];
    outbox.serve("a", mine.session);
    outbox.serve("b", mine.session);
    outbox.serve("c", others.session);
    outbox.unserve("a", others.session);
    expect(outbox.server("a")).toBe(mine.session);
    outbox.unserve("a", mine.session);
    expect(outbox.server("a")).toBeUndefined();
    outbox.sessionEnded(mine.session);
    expect([outbox.server("b"), outbox.server("c")]).toEqual([undefined, others.session]);
  });
});

describe("messages to agents", () => {
  test("a cast is validated and stored for its host", () => {
    messages.cast("h", "terminate_instance", { instanceUuid: I, requestId: "req-1" }, "req-1");
    expect(store.messages.pending("h")).toMatchObject([
      { method: "terminate_instance", params: `{"instanceUuid":"${I}","requestId":"req-1"}`, requestId: "req-1" },
    ]);
    expect(() => messages.forwardCast("h", "terminate_instance", { instanceUuid: 1 }, "req-1")).toThrow(
      expect.objectContaining({ code: "InvalidParameters" }),
    );
    expect(store.messages.pending("h")).toHaveLength(1);
  });

  test("a call waits for a minute or its timeout, and its result is validated", async () => {
    const { session, requests } = connection();
    outbox.serve("h", session);
    expect([messages.serves("h"), messages.serves("other")]).toEqual([true, false]);
    const params = { instanceUuid: I, migrationId: 1, requestId: "req-1" };
    const called = messages.call("h", "confirm_resize", params, { requestId: "req-1" });
    const forwarded = messages.forwardCall("h", "confirm_resize", params, { requestId: "r", timeout: 5, call: "b:1" });
    expect(requests).toMatchObject([
      { method: "confirm_resize", params, meta: { host: "h", requestId: "req-1", timeout: 60_000 } },
      { method: "confirm_resize", params, meta: { host: "h", requestId: "r", timeout: 5, call: "b:1" } },
    ]);
    expect(Object.keys(requests[0]?.meta ?? {})).not.toContain("call");
    requests[0]?.resolve(null);
    expect(await called).toBeNull();
    requests[1]?.resolve("no answer to it");
    await expect(forwarded).rejects.toThrow("the agent of host h returned an invalid result of confirm_resize");
    await expect(messages.forwardCall("h", "confirm_resize", {}, { requestId: "r" })).rejects.toMatchObject({
      code: "InvalidParameters",
    });
  });

  test("a call to a host that is not served fails immediately, and reports whether its agent is connected", async () => {
    const params = { instanceUuid: I, migrationId: 1, requestId: "req-1" };
    const call = () => messages.call("h", "confirm_resize", params, { requestId: "req-1" });
    const failure = await call().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "MessagingTimeout" });
    expect(failure).toMatchObject({
      message: "host h: confirm_resize cannot be called: no agent serves it",
      data: { host: "h", method: "confirm_resize" },
    });
    leases.acquire("h", connection().session, { bootId: "b", pid: 1, machine: "m", version: "v" });
    await expect(call()).rejects.toThrow("host h: confirm_resize cannot be called: its agent is not serving yet");
  });
});

describe("the end of a move", () => {
  const setUpMove = (
    type: MigrationType,
    status: MigrationStatus,
    changes: MigrationChanges = { destCompute: "h" },
  ) => {
    const { session, requests } = connection();
    outbox.serve("h", session);
    const { id: _id, ...columns } = anInstance({ uuid: I, host: null, node: null, computeId: null });
    store.instances.create(columns);
    const { id } = store.migrations.create({ instanceUuid: I, migrationType: type, status, changes });
    return { id, requests, end: (id: number) => notifyMoveEnd({ store, outbox, logger: runtime.logger }, id) };
  };

  test.each<[MigrationType, MigrationStatus, boolean]>([
    ["migration", "error", true],
    ["resize", "confirmed", true],
    ["live-migration", "completed", true],
    ["evacuation", "done", false],
    ["migration", "pre-migrating", false],
    ["resize", "finished", false],
  ])("a %s that is %s: its destination is told %s", (type, status, isNotified) => {
    const { id, requests, end } = setUpMove(type, status);
    end(id);
    const message = {
      method: "migration_ended",
      params: { instanceUuid: I, migrationId: id },
      meta: { host: "h", timeout: 10_000 },
    };
    expect(requests.map(({ method, params, meta }) => ({ method, params, meta }))).toEqual(isNotified ? [message] : []);
  });

  test("a move that is deleted with its instance has ended as well", () => {
    const { id, requests, end } = setUpMove("migration", "migrating");
    store.instances.destroy(I);
    end(id);
    expect(requests).toHaveLength(1);
  });

  test("no notification is sent without a serving destination, and its rejection is harmless", async () => {
    const { id, requests, end } = setUpMove("migration", "error", {});
    end(id);
    store.migrations.save(id, { destCompute: "other" });
    end(id);
    end(99);
    expect(requests).toEqual([]);
    store.migrations.save(id, { destCompute: "h" });
    end(id);
    requests[0]?.reject(new Error("stopping"));
    await settle();
    expect(runtime.logs.at(-1)).toMatchObject({ level: "debug", fields: { host: "h" } });
  });
});
