import { beforeEach, describe, expect, test } from "vitest";
import { type ConductorError, isConductorError } from "../../../../src/conductor-client/errors.js";
import { HostLeases } from "../../../../src/control-plane/conductor/host-leases.js";
import type { AgentIdentity, Session } from "../../../../src/control-plane/conductor/session.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

const TTL = 10_000;
const HOST = "devstack1";
const agent = (bootId: string, machine = "m"): AgentIdentity => ({ bootId, pid: bootId.length, machine, version: "v" });
const ONE = agent("one");
const THREE = agent("three");

let runtime: ReturnType<typeof createVirtualRuntime>;
let store: Store;
let leases: HostLeases;
let holders: unknown[];

beforeEach(() => {
  runtime = createVirtualRuntime();
  store = emptyStore({ runtime });
  holders = [];
  leases = anew();
});

/** Creates the leases of a control plane that restarts with the same state. */
function anew(): HostLeases {
  return new HostLeases(store, runtime.clock, TTL, (host, pid) => holders.push([host, pid]));
}

/** Creates a connection with its received notifications. */
function connection() {
  const notified: unknown[] = [];
  const session = {
    lastFrameAt: runtime.clock.monotonic(),
    notify: (method: string, params: object) => notified.push([method, params]),
  };
  return { session: session as unknown as Session & { lastFrameAt: number }, notified };
}

function rejectionOf(work: () => unknown): ConductorError {
  try {
    work();
  } catch (error) {
    if (isConductorError(error, "HostLeaseHeld")) {
      return error;
    }
    throw error;
  }
  return expect.fail("it was not refused");
}

describe("the lease of a host", () => {
  test("does not reuse the previous holder's epoch after a rolled back transaction", async () => {
    const { session: first } = connection();
    const { epoch } = leases.acquire(HOST, first, ONE);
    leases.sessionEnded(first);
    await runtime.advance(TTL);
    const { session } = connection();
    const frame = () =>
      store.transaction(() => {
        leases.acquire(HOST, session, THREE);
        throw new Error("the disk is full");
      });
    expect(frame).toThrow("the disk is full");
    // The conductor handles each message of such a frame in its own transaction.
    expect(leases.acquire(HOST, session, THREE).epoch).toBeGreaterThan(epoch);
    expect(store.leases.get(HOST)?.bootId).toBe(THREE.bootId);
  });

  test("belongs to the first agent that acquires it, and is stored with holder and time", () => {
    const { session } = connection();
    const { epoch, loser } = leases.acquire(HOST, session, ONE);
    expect(loser).toBeUndefined();
    expect(leases.holder(HOST)).toBe(session);
    expect(leases.holder("devstack2")).toBeUndefined();
    expect(store.leases.epoch(HOST)).toBe(epoch);
    const now = runtime.clock.now();
    const lease = { host: HOST, bootId: "one", pid: 3, machine: "m", acquiredAt: now, renewedAt: now };
    expect(store.leases.list()).toEqual([lease]);
    expect(holders).toEqual([[HOST, 3]]);
  });

  test("stays with the same boot on a new connection: same epoch and time, and the old connection is notified", async () => {
    const [old, young] = [connection(), connection()];
    const { epoch } = leases.acquire(HOST, old.session, ONE);
    const [{ acquiredAt } = { acquiredAt: -1 }] = store.leases.list();
    await runtime.advance(500);
    expect(leases.acquire(HOST, young.session, ONE)).toEqual({ epoch, loser: old.session });
    expect(store.leases.list()).toMatchObject([{ acquiredAt, renewedAt: acquiredAt + 500 }]);
    const reason = `the agent with pid 3 and boot id one took host ${HOST}`;
    expect(old.notified).toEqual([["lease_lost", { host: HOST, reason }]]);
    expect(young.notified).toEqual([]);
    expect(leases.acquire(HOST, young.session, ONE).loser).toBeUndefined();
    expect(young.notified).toEqual([]);
  });

  test("gets an epoch if an earlier release stored none", () => {
    const { session } = connection();
    store.leases.put({ host: HOST, bootId: "one", pid: 3, machine: "m", acquiredAt: 1, renewedAt: 1 });
    leases = anew();
    const { epoch } = leases.acquire(HOST, session, ONE);
    expect(epoch).toBeGreaterThan(0);
    expect(store.leases.list()).toMatchObject([{ acquiredAt: 1 }]);
  });

  test("is denied to others while its holder is connected, however long it is silent", async () => {
    const { session } = connection();
    leases.acquire(HOST, session, ONE);
    await runtime.advance(5 * TTL);
    const rejection = rejectionOf(() => leases.acquire(HOST, connection().session, THREE, "one"));
    expect(rejection.data).toEqual({
      host: HOST,
      bootId: "one",
      pid: 3,
      machine: "m",
      seenAgo: 5 * TTL,
      connected: true,
      freeIn: null,
    });
    expect(rejection.message).toBe(
      `host ${HOST} is held by another live agent: pid 3 on machine m, boot id one, last seen 50.0 s ago. ` +
        "Stop that agent, or start this one with another --host",
    );
    expect(() => leases.assertHolder(HOST, "three")).toThrow(expect.objectContaining({ code: "HostLeaseHeld" }));
    expect(() => leases.assertHolder(HOST, undefined)).toThrow(expect.objectContaining({ code: "HostLeaseHeld" }));
    expect(() => leases.assertHolder(HOST, "one")).not.toThrow();
    expect(() => leases.assertHolder("devstack2", "three")).not.toThrow();
  });

  test("goes to the next agent with a greater epoch after its TTL without a connection", async () => {
    const { session } = connection();
    const { epoch } = leases.acquire(HOST, session, ONE);
    await runtime.advance(1_000);
    session.lastFrameAt = runtime.clock.monotonic() - 200;
    leases.sessionEnded(session);
    expect(leases.holder(HOST)).toBeUndefined();
    expect(store.leases.list()).toMatchObject([{ bootId: "one", renewedAt: runtime.clock.now() - 200 }]);
    await runtime.advance(TTL - 1);
    const rejection = rejectionOf(() => leases.acquire(HOST, connection().session, THREE));
    expect(rejection.data).toMatchObject({ connected: false, freeIn: 1, seenAgo: TTL + 199 });
    expect(rejection.message).toContain(
      "last seen 10.2 s ago (if it does not come back, the host is free in 0.0 s). Stop that agent",
    );
    await runtime.advance(1);
    expect(leases.acquire(HOST, connection().session, THREE).epoch).toBeGreaterThan(epoch);
    expect(holders).toEqual([
      [HOST, 3],
      [HOST, null],
      [HOST, 5],
    ]);
  });

  test.each([
    [TTL - 1, TTL],
    [TTL, 0],
    [TTL + 5, 0],
  ])("of a connection that had been silent for %i ms runs for %i more", async (silence, more) => {
    const { session } = connection();
    leases.acquire(HOST, session, ONE);
    await runtime.advance(silence);
    leases.sessionEnded(session);
    expect(leases.describe(HOST)?.freeIn ?? 0).toBe(more);
  });

  test("ends immediately for an agent on the same machine that knows the holder is dead", () => {
    for (const [taker, dead, goes] of [
      [agent("three", "other"), "one", false],
      [THREE, "two", false],
      [THREE, undefined, false],
      [THREE, "one", true],
    ] as const) {
      const { session } = connection();
      leases.acquire(HOST, session, ONE);
      leases.sessionEnded(session);
      const acquire = () => leases.acquire(HOST, connection().session, taker, dead);
      if (goes) {
        expect(acquire().loser).toBeUndefined();
      } else {
        expect(acquire).toThrow(expect.objectContaining({ code: "HostLeaseHeld" }));
      }
    }
  });

  test("is released by its holder only", () => {
    leases.acquire(HOST, connection().session, ONE);
    expect(leases.release(HOST, "three")).toBe(false);
    expect(leases.release("devstack2", "one")).toBe(false);
    expect(store.leases.list()).toHaveLength(1);
    expect(leases.release(HOST, "one")).toBe(true);
    expect(store.leases.list()).toEqual([]);
    expect([leases.holder(HOST), leases.describe(HOST)]).toEqual([undefined, null]);
    expect(holders).toEqual([
      [HOST, 3],
      [HOST, null],
    ]);
  });

  test("survives a restart of the control plane for its TTL, so that its holder can reconnect", async () => {
    leases.acquire(HOST, connection().session, ONE);
    leases = anew();
    expect(leases.describe(HOST)).toMatchObject({ bootId: "one", connected: false, freeIn: TTL });
    expect(() => leases.acquire(HOST, connection().session, THREE)).toThrow(
      expect.objectContaining({ code: "HostLeaseHeld" }),
    );
    await runtime.advance(TTL);
    expect(leases.describe(HOST)).toBeNull();
    leases.acquire(HOST, connection().session, THREE);
  });
});

test("the end of a connection ends only its own leases", () => {
  const [mine, others] = [connection(), connection()];
  leases.acquire("a", mine.session, ONE);
  leases.acquire("b", mine.session, ONE);
  leases.acquire("c", others.session, THREE);
  holders.length = 0;
  leases.sessionEnded(mine.session);
  leases.sessionEnded(mine.session);
  expect(holders).toEqual([
    ["a", null],
    ["b", null],
  ]);
  expect([leases.holder("a"), leases.holder("c")]).toEqual([undefined, others.session]);
});

test("after expiry, others' actions for the host are rejected until one of them acquires the lease", async () => {
  const { session } = connection();
  leases.acquire(HOST, session, ONE);
  leases.sessionEnded(session);
  await runtime.advance(TTL + 5);
  expect(rejectionOf(() => leases.assertHolder(HOST, "three")).data).toMatchObject({ connected: false, freeIn: 0 });
  leases.acquire(HOST, connection().session, THREE);
  leases.assertHolder(HOST, "three");
});

test("messages have times in seconds", async () => {
  leases.acquire(HOST, connection().session, ONE);
  await runtime.advance(1_000_040);
  expect(rejectionOf(() => leases.acquire(HOST, connection().session, THREE)).message).toContain(
    "last seen 1000.0 s ago.",
  );
});

test("the description of a holder is based on its last frame, never on a time in the future", async () => {
  const { session } = connection();
  leases.acquire(HOST, session, ONE);
  await runtime.advance(300);
  expect(leases.describe(HOST)).toMatchObject({ seenAgo: 300, connected: true, freeIn: null });
  session.lastFrameAt = runtime.clock.monotonic() + 50;
  expect(leases.describe(HOST)?.seenAgo).toBe(0);
  expect(leases.describe("devstack2")).toBeNull();
});

describe("a boot that was killed while its connection stays open", () => {
  test("is rejected and cannot acquire its lease again, which expires as if the connection had ended", async () => {
    const { session } = connection();
    leases.acquire(HOST, session, ONE);
    leases.acquire("devstack2", session, THREE);
    expect(leases.killed(HOST, "another", session)).toBe(false);
    expect(leases.killed(HOST, "one", connection().session)).toBe(false);
    expect(leases.killed(HOST, "one", session)).toBe(true);
    expect(holders.at(-1)).toEqual([HOST, null]);
    expect(leases.isHolder(HOST, session, "one")).toBe(false);
    expect(leases.isHolder("devstack2", session, "three")).toBe(true);
    rejectionOf(() => leases.assertHolder(HOST, "one"));
    rejectionOf(() => leases.acquire(HOST, session, ONE));
    expect(leases.describe(HOST)).toMatchObject({ connected: false, freeIn: TTL });
    await runtime.advance(TTL);
    leases.acquire(HOST, connection().session, agent("stranger", "elsewhere"));
  });

  test("is replaced immediately by another boot of the same connection, which knows that it is dead", () => {
    const { session, notified } = connection();
    const first = leases.acquire(HOST, session, ONE);
    rejectionOf(() => leases.acquire(HOST, session, THREE));
    rejectionOf(() => leases.acquire(HOST, connection().session, THREE, "one"));
    const next = leases.acquire(HOST, session, THREE, "one");
    expect(next.epoch).toBeGreaterThan(first.epoch);
    expect(next.loser).toBe(session);
    expect(notified).toEqual([]);
    rejectionOf(() => leases.assertHolder(HOST, "one"));
    leases.assertHolder(HOST, "three");
  });
});
