import { beforeEach, describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { PROTOCOL_VERSION } from "../../../../../src/conductor-client/wire.js";
import type { AgentMessages } from "../../../../../src/control-plane/conductor/agent-messages.js";
import type { Caller } from "../../../../../src/control-plane/conductor/dispatcher.js";
import { HostLeases } from "../../../../../src/control-plane/conductor/host-leases.js";
import { sessionMethods } from "../../../../../src/control-plane/conductor/methods/session-methods.js";
import { Outbox } from "../../../../../src/control-plane/conductor/outbox.js";
import type { Session } from "../../../../../src/control-plane/conductor/session.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";

let store: Store;
let leases: HostLeases;
let outbox: Outbox;
let introduced: unknown[];
let forwarded: unknown[];
let announced: unknown[];
let methods: ReturnType<typeof sessionMethods>;

beforeEach(() => {
  const runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  leases = new HostLeases(store, runtime.clock, 10_000);
  outbox = new Outbox(store, runtime.logger);
  [introduced, forwarded, announced] = [[], [], []];
  const messages = {
    forwardCall: (...question: readonly unknown[]) => {
      forwarded.push(question);
      return Promise.resolve("answer");
    },
    forwardCast: (...message: readonly unknown[]) => void forwarded.push(message),
  };
  methods = sessionMethods({
    store,
    leases,
    ports: { setBridges: () => undefined },
    outbox,
    messages: messages as unknown as AgentMessages,
    controls: { announced: (...hosts) => announced.push(hosts) },
    guests: { changed: () => undefined },
    leaseTtl: 10_000,
    introduced: (session, identity) => introduced.push([session, identity]),
  });
});

function callerOf(bootId: string | null, more: Partial<Caller> = {}): Caller {
  const identity = bootId === null ? undefined : { bootId, pid: 1, machine: "m", version: "v" };
  const session = {
    identity,
    lastFrameAt: 0,
    notify: () => undefined,
    hostEnded: () => undefined,
  } as unknown as Session;
  return { session, host: undefined, bootId: bootId ?? "", requestId: "req-1", unfenced: false, ...more };
}

describe("session_hello", () => {
  const identity = { bootId: "b", pid: 1, machine: "m", version: "v" };

  it.each([1, PROTOCOL_VERSION])("introduces the agent of version %s, and returns the lease's TTL", (protocol) => {
    const caller = callerOf(null);
    const welcome = methods.session_hello({ protocol, ...identity }, caller);
    expect(welcome).toEqual({ protocol, leaseTtl: 10_000, pingEvery: 2_500 });
    expect(introduced).toEqual([[caller.session, identity]]);
    expect(methods.session_ping({}, caller)).toBeNull();
  });

  it.each([
    [0, "the agent is too old: install the control plane's release of the agent"],
    [
      PROTOCOL_VERSION + 1,
      "the agent is newer: upgrade the control plane first, or install the control plane's release of the agent",
    ],
  ])("refuses version %s of the wire: %s", (protocol, advice) => {
    const hello = () => methods.session_hello({ protocol, ...identity }, callerOf(null));
    const text = `the agent uses protocol version ${protocol}, this conductor supports versions 1 to ${PROTOCOL_VERSION}; ${advice}`;
    expect(hello).toThrow(
      new ConductorError("UnsupportedProtocol", text, { found: protocol, expected: PROTOCOL_VERSION, oldest: 1 }),
    );
    expect(introduced).toEqual([]);
  });
});

describe("leases and served hosts", () => {
  it("a host is served only by its lease's holder or an unfenced agent", () => {
    const [mine, others] = [callerOf("one"), callerOf("two")];
    const { epoch } = methods.host_lease({ host: "h" }, mine);
    expect(epoch).toBeGreaterThan(0);
    expect(outbox.server("h")).toBeUndefined();
    expect(methods.host_serve({ host: "h" }, mine)).toBeNull();
    expect(outbox.server("h")).toBe(mine.session);
    expect(() => methods.host_serve({ host: "h" }, others)).toThrow(expect.objectContaining({ code: "HostLeaseHeld" }));
    expect(() => methods.host_serve({ host: "other" }, mine)).toThrow(
      "host other cannot be served: this agent does not hold its lease; acquire it first",
    );
    methods.host_serve({ host: "h" }, { ...others, unfenced: true });
    expect(outbox.server("h")).toBe(others.session);
    expect(methods.host_unserve({ host: "h" }, mine)).toBeNull();
    expect(outbox.server("h")).toBe(others.session);
    methods.host_unserve({ host: "h" }, others);
    expect(outbox.server("h")).toBeUndefined();
  });

  it("a new connection of the same boot takes the lease, and the old one stops serving", () => {
    const [old, young] = [callerOf("one"), callerOf("one")];
    const first = methods.host_lease({ host: "h" }, old);
    methods.host_serve({ host: "h" }, old);
    expect(methods.host_lease({ host: "h" }, old)).toEqual(first);
    expect(outbox.server("h")).toBe(old.session);
    expect(methods.host_lease({ host: "h" }, young)).toEqual(first);
    expect(outbox.server("h")).toBeUndefined();
    expect(leases.holder("h")).toBe(young.session);
  });

  it("an agent that knows that the holder is dead gets its lease", () => {
    const dead = callerOf("one");
    methods.host_lease({ host: "h" }, dead);
    leases.sessionEnded(dead.session);
    const next = callerOf("two");
    expect(() => methods.host_lease({ host: "h" }, next)).toThrow(expect.objectContaining({ code: "HostLeaseHeld" }));
    methods.host_lease({ host: "h", holderIsDead: "one" }, next);
    expect(leases.holder("h")).toBe(next.session);
  });

  it("a released host has no lease and is not served", () => {
    const mine = callerOf("one");
    methods.host_lease({ host: "h" }, mine);
    methods.host_serve({ host: "h" }, mine);
    expect(methods.host_release({ host: "h" }, callerOf("two"))).toBeNull();
    expect(leases.holder("h")).toBe(mine.session);
    expect(methods.host_release({ host: "h" }, mine)).toBeNull();
    expect([leases.holder("h"), outbox.server("h")]).toEqual([undefined, undefined]);
  });

  it("without session_hello there is no lease", () => {
    expect(() => methods.host_lease({ host: "h" }, callerOf(null))).toThrow(
      expect.objectContaining({ code: "UnsupportedProtocol" }),
    );
  });
});

describe("messages between agents", () => {
  const agentMessage = { host: "h", method: "confirm_resize", params: { a: 1 } } as const;

  it.each([
    [{}, { timeout: 500 }],
    [{ timeout: 300 }, { timeout: 300 }],
    [
      { timeout: 700, call: "b:1" },
      { timeout: 500, call: "b:1" },
    ],
  ])("a call of one that waits %j", async (more, options) => {
    expect(await methods.agent_call({ ...agentMessage, timeout: 500 }, callerOf("one", more))).toBe("answer");
    expect(forwarded).toEqual([["h", "confirm_resize", { a: 1 }, { requestId: "req-1", ...options }]]);
  });

  it("a cast", () => {
    expect(methods.agent_cast(agentMessage, callerOf("one"))).toBeNull();
    expect(forwarded).toEqual([["h", "confirm_resize", { a: 1 }, "req-1"]]);
  });
});

describe("heartbeats of several hosts", () => {
  const made = (host: string) =>
    store.services.create({ host, binary: "nova-compute", topic: "compute", version: 60 }).id;
  const counts = (...services: readonly number[]) => services.map((id) => store.services.get(id)?.reportCount);

  it("each is stored for its boot, or rejected individually", () => {
    const mine = callerOf("one");
    methods.host_lease({ host: "h" }, mine);
    methods.host_lease({ host: "taken" }, callerOf("two"));
    methods.host_lease({ host: "again" }, callerOf("its own"));
    const [h, taken, again, free] = [made("h"), made("taken"), made("again"), made("free")] as const;
    const changeEvents: string[] = [];
    store.onChange(({ kind, id }) => changeEvents.push(`${kind} ${id}`));
    const rejections = methods.hosts_report_state(
      {
        reports: [
          { host: "taken", service: taken },
          { host: "h", service: h },
          { host: "gone", service: 99 },
          { host: "again", service: again, boot: "its own" },
          { host: "again", service: again, boot: "the one before" },
          { host: "taken", service: free, unfenced: true },
        ],
      },
      mine,
    );
    expect(rejections.map(({ at, error }) => [at, error.data?.name]).sort()).toEqual([
      [0, "HostLeaseHeld"],
      [2, "ServiceNotFound"],
      [4, "HostLeaseHeld"],
    ]);
    expect(counts(h, taken, again, free)).toEqual([1, 0, 1, 1]);
    expect(changeEvents).toEqual([`service ${h}`, `service ${again}`, `service ${free}`]);
  });

  it("none is rejected if all hosts have their leases", () => {
    const [one, other] = [made("one"), made("other")] as const;
    const reports = [one, other].map((service) => ({ host: "h", service }));
    expect(methods.hosts_report_state({ reports }, callerOf("boot"))).toEqual([]);
    expect(counts(one, other)).toEqual([1, 1]);
  });
});
