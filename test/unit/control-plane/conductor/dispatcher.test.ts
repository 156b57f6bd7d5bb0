import { beforeEach, describe, expect, test } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { type Caller, Dispatcher, type DispatcherDeps } from "../../../../src/control-plane/conductor/dispatcher.js";
import { HostLeases } from "../../../../src/control-plane/conductor/host-leases.js";
import type { Session, ValidRequest } from "../../../../src/control-plane/conductor/session.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

const BOOT = "b007";

type Handler = (params: object, caller: Caller) => unknown;
type TestSession = { -readonly [K in "identity" | "overLimit" | "underWay" | "acknowledged"]: Session[K] };

let runtime: ReturnType<typeof createVirtualRuntime>;
let store: Store;
let leases: HostLeases;
let handlers: Record<string, Handler>;
let callers: Caller[];
let dispatcher: Dispatcher;
let session: TestSession;

beforeEach(() => {
  runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  leases = new HostLeases(store, runtime.clock, 10_000);
  [handlers, callers] = [{}, []];
  const methods = new Proxy(
    {},
    {
      get: (_target, name: string) => (params: object, caller: Caller) => {
        callers.push(caller);
        return handlers[name]?.(params, caller);
      },
    },
  );
  const { random, logger } = runtime;
  dispatcher = new Dispatcher({ store, leases, random, logger, methods: methods as DispatcherDeps["methods"] });
  session = connection();
});

function connection(bootId: string | null = BOOT): TestSession {
  const identity = bootId === null ? undefined : { bootId, pid: 1, machine: "m", version: "v" };
  return { identity, overLimit: false, underWay: 0, acknowledged: -1 };
}

function ask(method: string, params: object, more: Partial<ValidRequest> = {}, by = session) {
  return dispatcher.dispatch(by as unknown as Session, { id: 1, method, params, meta: {}, ...more });
}

const READ = ["service_minimum_version", { binary: "b" }] as const;
const WRITE = ["service_report_state", { id: 1 }] as const;
const WAIT = ["placement_access", {}] as const;
const ASK = ["agent_call", { host: "h", method: "confirm_resize", params: {}, timeout: 5 }] as const;
const SET = ["session_ping", {}] as const;

function error(code: number, name?: string) {
  return {
    error: { code, message: expect.any(String), ...(name ? { data: { name, details: expect.anything() } } : {}) },
  };
}
const INVALID = error(-32600);

describe("responses", () => {
  test("a request gets the handler's result under its id; a notification gets no response", async () => {
    handlers = { service_minimum_version: () => 73, placement_access: async () => "access" };
    expect(ask(...READ, { id: "text" })).toEqual({ jsonrpc: "2.0", id: "text", result: 73 });
    expect(ask(...READ, { id: undefined })).toBeUndefined();
    expect(await ask(...WAIT)).toEqual({ jsonrpc: "2.0", id: 1, result: "access" });
    expect(await ask(...WAIT, { id: undefined })).toBeUndefined();
    handlers = {};
    for (const reply of [ask(...READ), ask(...WRITE), await ask(...WAIT), await ask(...ASK, { id: 2 })]) {
      expect(reply).toMatchObject({ result: null });
    }
    expect(callers).toHaveLength(8);
  });

  test("before session_hello, every other method is rejected", () => {
    const unidentified = connection(null);
    expect(ask(...READ, {}, unidentified)).toMatchObject(error(-32000, "UnsupportedProtocol"));
    expect(callers).toEqual([]);
    const hello = { protocol: 1, bootId: "00000000-0000-4000-8000-000000000001", pid: 1, machine: "m", version: "v" };
    expect(ask("session_hello", hello, {}, unidentified)).toMatchObject({ result: null });
  });

  test("unknown methods and invalid parameters are rejected before anything is executed", () => {
    expect(ask("no_such_method", {})).toMatchObject({
      error: { code: -32601, message: "unknown method no_such_method" },
    });
    expect(ask("x".repeat(200), {})).toMatchObject({ error: { message: `unknown method ${"x".repeat(100)}` } });
    expect(ask("service_report_state", { id: "1" })).toMatchObject(error(-32602));
    expect(callers).toEqual([]);
  });
});

describe("the caller", () => {
  test("handlers get its host, boot, request and whether it is unfenced", () => {
    ask(...READ, { meta: { host: "h", requestId: "req-1", unfenced: true } });
    ask(...READ);
    ask(...READ, { meta: { host: "h", boot: "own", requestId: "req-2" } });
    expect(callers).toEqual([
      { session, host: "h", bootId: BOOT, requestId: "req-1", unfenced: true },
      {
        session,
        host: undefined,
        bootId: BOOT,
        requestId: expect.stringMatching(/^req-[0-9a-f-]{36}$/),
        unfenced: false,
      },
      { session, host: "h", bootId: "own", requestId: "req-2", unfenced: false },
    ]);
  });

  test("a call to another agent gets a name from boot and number, and the remaining timeout", async () => {
    await ask(...ASK, { meta: { timeout: 3, requestId: "r" } });
    await ask(...ASK, { id: 2, meta: { requestId: "r" } });
    const caller = { session, host: undefined, bootId: BOOT, requestId: "r", unfenced: false };
    expect(callers).toEqual([
      { ...caller, timeout: 3, call: `${BOOT}:1` },
      { ...caller, call: `${BOOT}:2` },
    ]);
  });
});

describe("writes are executed once", () => {
  test("a repeated write gets the first reply", () => {
    let count = 0;
    handlers = {
      service_report_state: () => {
        count += 1;
        return count;
      },
    };
    expect([ask(...WRITE), ask(...WRITE), ask(...WRITE, { id: 2 })]).toMatchObject([
      { result: 1 },
      { result: 1 },
      { result: 2 },
    ]);
    expect(ask(...WRITE, {}, connection("other"))).toMatchObject({ result: 3 });
  });

  test("a repeated write gets the first error, whose changes were rolled back", () => {
    let count = 0;
    handlers = {
      service_report_state: () => {
        count += 1;
        store.tasks.add({ kind: "delete_local", instanceUuid: "cccccccc-0000-4000-8000-000000000001", requestId: "r" });
        throw new ConductorError("ServiceNotFound", "gone", { id: 1 });
      },
    };
    expect(ask(...WRITE)).toMatchObject(error(-32000, "ServiceNotFound"));
    const begun = count;
    expect(ask(...WRITE)).toMatchObject(error(-32000, "ServiceNotFound"));
    expect([count, store.tasks.pending()]).toEqual([begun, []]);
  });

  test("an unexpected error is logged and not stored as a reply", () => {
    handlers = {
      service_report_state: () => {
        throw new TypeError("unforeseen");
      },
    };
    expect(ask(...WRITE)).toMatchObject({ error: { message: expect.any(String) } });
    expect(store.messages.findReply(BOOT, 1)).toBeNull();
    expect(runtime.logs.at(-1)).toMatchObject({ level: "error", fields: { method: "service_report_state" } });
    handlers = { service_report_state: () => "works now" };
    expect(ask(...WRITE)).toMatchObject({ result: "works now" });
  });

  test.each(["text", -1, 1.5, null])("writes need an integer id: %j is rejected", (id) => {
    expect([ask(...WRITE, { id }), ask(...ASK, { id })]).toMatchObject([INVALID, INVALID]);
    expect(callers).toEqual([]);
  });

  test("notifications that write are executed each time; 0 is a valid id", () => {
    ask(...WRITE, { id: undefined });
    ask(...WRITE, { id: undefined });
    ask(...WRITE, { id: 0 });
    ask(...WRITE, { id: 0 });
    expect(callers).toHaveLength(3);
  });
});

describe("calls to other agents are executed once", () => {
  test("a repeated call shares the first one's pending result, and gets the stored result later", async () => {
    let respond = (_value: unknown): void => undefined;
    handlers = { agent_call: () => new Promise((resolve) => (respond = resolve)) };
    const [first, second] = [ask(...ASK), ask(...ASK)];
    respond("once");
    expect(await Promise.all([first, second])).toMatchObject([{ result: "once" }, { result: "once" }]);
    expect(ask(...ASK)).toMatchObject({ result: "once" });
    expect(callers).toHaveLength(1);
    handlers = {
      agent_call: async () => {
        throw new ConductorError("ConductorError", "refused");
      },
    };
    expect(await ask(...ASK, { id: 2 })).toMatchObject(error(-32000, "ConductorError"));
    expect(ask(...ASK, { id: 2 })).toMatchObject(error(-32000, "ConductorError"));
    expect(callers).toHaveLength(2);
  });

  test("too many pending calls are rejected; each counts while it waits", async () => {
    let under = -1;
    handlers = {
      placement_access: async () => {
        under = session.underWay;
      },
    };
    await ask(...WAIT);
    expect([under, session.underWay]).toEqual([1, 0]);
    handlers = { placement_access: () => Promise.reject(new TypeError("unforeseen")) };
    expect(await ask(...WAIT)).toMatchObject({ error: {} });
    expect(session.underWay).toBe(0);
    expect(runtime.logs.at(-1)?.level).toBe("error");
    session.overLimit = true;
    expect(await ask(...WAIT)).toMatchObject(error(-32000, "OverLimit"));
    expect(callers).toHaveLength(2);
  });
});

describe("a host whose lease another boot has", () => {
  beforeEach(() => {
    leases.acquire("h", connection("other") as unknown as Session, {
      bootId: "other",
      pid: 1,
      machine: "m",
      version: "v",
    });
  });
  const HELD = error(-32000, "HostLeaseHeld");

  test("rejects writes and calls, except those of unfenced agents, and permits reads", async () => {
    const meta = { host: "h" };
    expect(ask(...WRITE, { meta })).toMatchObject(HELD);
    expect(ask(...ASK, { id: 2, meta })).toMatchObject(HELD);
    expect(callers).toEqual([]);
    expect(store.messages.findReply(BOOT, 1)).toBeNull();
    expect(ask(...READ, { meta })).toMatchObject({ result: null });
    expect(ask(...WRITE, { meta: { ...meta, unfenced: true } })).toMatchObject({ result: null });
    expect(ask(...WRITE, { id: 3 })).toMatchObject({ result: null });
    expect(ask(...WRITE, { meta }, connection("other"))).toMatchObject({ result: null });
  });
});

describe("replies that the agent has acknowledged", () => {
  test("are deleted at its next write, call or ping", async () => {
    for (const [index, [method, params]] of [WRITE, ASK, SET].entries()) {
      session = connection(`boot-${index}`);
      ask(...WRITE, { id: 5 });
      ask(...WRITE, { id: 6 });
      ask(...READ, { id: 7, meta: { ack: 5 } });
      expect(store.messages.findReply(`boot-${index}`, 5)).not.toBeNull();
      await ask(method, params, { id: 8, meta: { ack: 5 } });
      expect(store.messages.findReply(`boot-${index}`, 5)).toBeNull();
      expect(store.messages.findReply(`boot-${index}`, 6)).not.toBeNull();
      expect(session.acknowledged).toBe(5);
    }
  });

  test("are deleted once", () => {
    ask(...WRITE, { id: 5, meta: { ack: 4 } });
    store.messages.recordReply(BOOT, 3, "{}");
    ask(...WRITE, { id: 6, meta: { ack: 4 } });
    expect(store.messages.findReply(BOOT, 3)).toBe("{}");
    ask(...WRITE, { id: 7 });
    expect(session.acknowledged).toBe(4);
  });
});
