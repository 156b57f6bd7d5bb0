import { beforeEach, describe, expect, test } from "vitest";
import { CONDUCTOR_PATH } from "../../../../src/conductor-client/wire.js";
import { ConductorServer } from "../../../../src/control-plane/conductor/conductor-server.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { Socket } from "../../../../src/runtime/sockets.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { testNetwork } from "../../../fixtures/test-network.js";

const BOOT = "00000000-0000-4000-8000-00000000b007";
const OTHER = "00000000-0000-4000-8000-00000000b008";
const DAY = 24 * 3_600_000;

let runtime: ReturnType<typeof createVirtualRuntime>;
let store: Store;
let server: ConductorServer;
let holders: unknown[];

beforeEach(() => {
  runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  holders = [];
  server = open();
});

function open(): ConductorServer {
  return new ConductorServer({
    store,
    runtime,
    ports: testNetwork(store, runtime).ports,
    joinToken: "secret",
    placementAccess: () => ({ endpoint: "http://p", token: "t", expiresAt: 0 }),
    onHolder: (host, pid) => holders.push([host, pid]),
  });
}

/** Connects an agent. Returns its received messages and how the connection ended. */
function connect(authorization: string | undefined = "Bearer secret") {
  const received: unknown[] = [];
  const ends: unknown[] = [];
  let onMessage = (_text: string): void => undefined;
  let onClose = (): void => undefined;
  const socket = {
    send: (text: string) => received.push(JSON.parse(text)),
    bufferedBytes: 0,
    terminate: () => ends.push("terminated"),
    close: (...why: readonly unknown[]) => ends.push(why),
    onMessage: (listener: (text: string) => void) => {
      onMessage = listener;
    },
    onClose: (listener: () => void) => {
      onClose = listener;
    },
  };
  const headers = authorization === undefined ? {} : { authorization };
  const accept = server.sockets[CONDUCTOR_PATH] ?? expect.fail("no door");
  const rejection = accept(socket as unknown as Socket, { headers } as never);
  const say = (message: unknown) => onMessage(typeof message === "string" ? message : JSON.stringify(message));
  const call = (id: number, method: string, params: object = {}, meta?: object) =>
    say({ jsonrpc: "2.0", id, method, params, ...(meta ? { meta } : {}) });
  const hello = (bootId = BOOT) =>
    call(0, "session_hello", { protocol: 1, bootId, pid: 7, machine: "m", version: "v" });
  return { received, ends, rejection: rejection, say, call, hello, close: () => onClose() };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    await Promise.resolve();
  }
}

describe("the connection", () => {
  test.each(["Bearer secret", "bearer   secret"])("accepts %s", (authorization) => {
    expect(connect(authorization).rejection).toBeUndefined();
    expect(server.connections).toBe(1);
  });

  test.each([undefined, "", "Bearer", "Bearer wrong", "Basic secret", "Bearer secret more"])(
    "rejects %s",
    (authorization) => {
      expect(connect(authorization ?? "").rejection).toMatch(/^the join token is missing or wrong/);
      expect(server.connections).toBe(0);
    },
  );

  test("stopping the conductor closes the connections, and their leases start to expire", () => {
    const agent = connect();
    agent.hello();
    agent.call(1, "host_lease", { host: "h" });
    expect(holders).toEqual([["h", 7]]);
    server.stop();
    expect(agent.ends).toEqual([[1001, "the conductor is stopping; reconnect later"]]);
    expect([server.connections, holders.at(-1)]).toEqual([0, ["h", null]]);
    expect(connect().rejection).toBe("the conductor is stopping");
    agent.call(2, "session_ping");
    expect(agent.received).toHaveLength(2);
  });
});

describe("messages", () => {
  test("a single message gets a response immediately, a batch in one frame, notifications none", async () => {
    const agent = connect();
    agent.hello();
    agent.call(1, "session_ping");
    expect(agent.received).toMatchObject([{ id: 0, result: { leaseTtl: 10_000, pingEvery: 2_500 } }, { id: 1 }]);
    agent.call(2, "placement_access");
    await settle();
    expect(agent.received.at(-1)).toMatchObject({ id: 2, result: { endpoint: "http://p" } });
    const ping = { jsonrpc: "2.0", method: "session_ping", params: {} };
    agent.say([{ ...ping, id: 3 }, ping, { ...ping, id: 4, method: "placement_access" }, 5]);
    await settle();
    expect(agent.received.at(-1)).toMatchObject([{ id: 3 }, { id: 4, result: {} }, { id: null, error: {} }]);
    const before = agent.received.length;
    agent.say([ping]);
    agent.say(ping);
    agent.say({ jsonrpc: "2.0", id: 9, result: null });
    await settle();
    expect(agent.received).toHaveLength(before);
  });

  test("a message that causes an internal error closes only its own connection", () => {
    const [agent, other] = [connect(), connect()];
    const broken = () => {
      throw new Error("disk I/O error");
    };
    Object.defineProperty(store, "transaction", { value: broken });
    agent.hello();
    other.hello(OTHER);
    agent.say({ jsonrpc: "2.0", id: 1, method: "service_report_state", params: { id: 1 } });
    expect(agent.received.at(-1)).toMatchObject({ error: {} });
    expect([other.ends, server.connections]).toEqual([[], 2]);
  });
});

describe("a boot has one connection", () => {
  test("a second connection replaces the first; that of another boot stays", () => {
    const [first, other, second] = [connect(), connect(), connect()];
    first.hello();
    other.hello(OTHER);
    second.hello();
    expect([first.ends, other.ends, second.ends]).toEqual([["terminated"], [], []]);
    expect(server.connections).toBe(2);
    second.hello();
    expect(second.ends).toEqual([]);
    second.hello(OTHER);
    expect(second.received.at(-1)).toMatchObject({
      error: { message: expect.stringContaining("belongs to another boot") },
    });
    expect(other.ends).toEqual([]);
  });
});

describe("silent connections are closed", () => {
  test.each([true, false])(
    "after the lease's TTL since the last frame or the opening (session_hello sent: %s)",
    async (sendsHello) => {
      const agent = connect();
      await runtime.advance(5_000);
      if (sendsHello) {
        agent.hello();
      } else {
        agent.call(1, "session_ping");
      }
      await runtime.advance(4_999);
      expect(agent.ends).toEqual([]);
      await runtime.advance(1);
      expect(agent.ends).toEqual(sendsHello ? [] : ["terminated"]);
      await runtime.advance(5_000);
      expect(agent.ends).toEqual(["terminated"]);
      expect(server.connections).toBe(0);
      agent.close();
    },
  );

  test("connections opened later are watched as well", async () => {
    connect().close();
    expect(server.connections).toBe(0);
    await runtime.advance(20_000);
    const late = connect();
    await runtime.advance(10_000);
    expect(late.ends).toEqual(["terminated"]);
  });
});

test("stored messages and ends of moves go to their hosts", () => {
  const agent = connect();
  agent.hello();
  agent.call(1, "host_lease", { host: "h" });
  agent.call(2, "host_serve", { host: "h" });
  store.messages.enqueue({ host: "h", method: "reboot_instance", params: "{}", requestId: "r" });
  expect(agent.received.at(-1)).toMatchObject({ method: "reboot_instance", meta: { host: "h" } });
  expect(server.bus.serves("h")).toBe(true);
  agent.close();
  expect(server.bus.serves("h")).toBe(false);
});

test("stored replies of boots that never reconnect are deleted after a day, at a start and at each session_hello", async () => {
  const known = () => ["old", "young"].map((bootId) => store.messages.findReply(bootId, 1));
  store.messages.recordReply("old", 1, "{}");
  await runtime.advance(1);
  store.messages.recordReply("young", 1, "{}");
  await runtime.advance(DAY);
  connect().hello();
  expect(known()).toEqual([null, "{}"]);
  await runtime.advance(1);
  server.stop();
  server = open();
  expect(known()).toEqual([null, null]);
});
