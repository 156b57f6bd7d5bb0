import { describe, expect, test } from "vitest";
import type { ControlledHost, HostAction } from "../../src/conductor-client/methods/session.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { startInProcessConductor } from "../fixtures/in-process-conductor.js";

const [ONE, OTHER] = ["rack1-node1", "rack1-node2"];

/** Creates two hosts on one connection. */
async function start() {
  const world = new VirtualWorld();
  const cluster = await startInProcessConductor(world);
  const { connection, runtime } = cluster.agent("pool", { process: "pool" });
  const [session, other] = [connection.host(ONE), connection.host(OTHER)];
  await world.runUntil(connection.connected());
  await world.runUntil(Promise.all([session.acquireLease(), other.acquireLease()]));
  return { world, cluster, connection, runtime, session, other };
}

/** Returns whether the promise settles in that time. */
async function settles(world: VirtualWorld, milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  await world.advance(milliseconds);
  return settled;
}

const service = (host: string) => ({
  host,
  binary: "nova-compute",
  topic: "compute",
  version: 66,
  enableNewServices: true,
});

describe("2.4 G6: each host of a connection has a boot, an epoch and a lease of its own", () => {
  test("2.4 G6 the next boot of a killed one takes the host at once, in a greater epoch; its neighbour keeps its own", async () => {
    const { world, connection, session, other } = await start();
    const epochs = [session.leaseEpoch, other.leaseEpoch];
    await world.runUntil(session.kill());
    expect(session.leaseHeld).toBe(false);
    const next = connection.host(ONE);
    const before = world.now;
    await world.runUntil(next.acquireLease());
    expect(world.now).toBe(before);
    expect(next.leaseEpoch).toBeGreaterThan(Number(epochs[0]));
    await world.advance(60_000);
    expect([next.leaseHeld, other.leaseHeld, other.leaseEpoch]).toEqual([true, true, epochs[1]]);
  });

  test("2.4 G6 a killed one's lease is not given back: another process waits as for any that died elsewhere", async () => {
    const { world, cluster, session } = await start();
    await world.runUntil(session.kill());
    const second = cluster.agent(ONE, { process: "second" });
    await world.runUntil(second.connection.connected());
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now - before).toBe(10_000);
  });

  test("2.4 G6 what a killed one asked never settles, is not repeated, and what comes late from it is refused", async () => {
    const { world, cluster, connection, session, runtime } = await start();
    cluster.kill();
    await world.advance(100);
    const pendingCall = session.call("service_create", service(ONE));
    await world.runUntil(session.kill());
    const after = session.call("service_create", service(ONE));
    await cluster.restart();
    await world.runUntil(connection.connected());
    expect(await settles(world, 120_000, Promise.race([pendingCall, after]))).toBe(false);
    expect(cluster.store.services.list({})).toEqual([]);
    expect(runtime.logs.filter(({ message }) => /late|failed/.test(message))).toEqual([]);
  });

  test("2.4 G6 pings renew only those that live", async () => {
    const { world, cluster, session, other } = await start();
    await world.runUntil(session.kill());
    await world.advance(30_000);
    const holder = (host: string) => other.call("host_lease_holder", { host });
    expect(await world.runUntil(holder(ONE))).toBeNull();
    expect(await world.runUntil(holder(OTHER))).toMatchObject({ connected: true });
    expect(cluster.conductor.connections).toBe(1);
  });

  test("2.4 G6 killed while its connection was made again, a boot leaves no lease that somebody renews", async () => {
    const { world, cluster, connection, session, other } = await start();
    for (const delay of [0, 1, 2, 3, 5, 8, 13, 260, 300]) {
      cluster.kill();
      await world.advance(1_000);
      await cluster.restart();
      const killed = connection.host(ONE);
      await world.runUntil((delay === 0 ? session : killed).kill());
      await world.advance(delay);
    }
    await world.runUntil(connection.connected());
    await world.advance(30_000);
    expect(await world.runUntil(other.call("host_lease_holder", { host: ONE }))).toBeNull();
    expect(other.leaseHeld).toBe(true);
  });
});

describe("what is asked of a host whose boot was killed", () => {
  test("a call fails at once, as when its process dies, and the answer that its handler has afterwards is dropped", async () => {
    const { world, cluster, session } = await start();
    let resolveReply: (value: "enabled") => void = () => {};
    const reply = new Promise<"enabled">((resolve) => {
      resolveReply = resolve;
    });
    await world.runUntil(session.serve({ set_host_enabled: () => reply }));
    const pendingCall = cluster.conductor.bus.call(ONE, "set_host_enabled", { enabled: true }, { requestId: "req-1" });
    const failed = pendingCall.then(
      () => null,
      (error: unknown) => error,
    );
    await world.advance(10);
    await world.runUntil(session.kill());
    const before = world.now;
    expect(await world.runUntil(failed)).toMatchObject({ code: "MessagingTimeout" });
    expect(world.now).toBe(before);
    resolveReply("enabled");
    await world.advance(1_000);
    expect(cluster.conductor.bus.serves(ONE)).toBe(false);
  });

  test("a cast that it did not take is the next boot's", async () => {
    const { world, cluster, connection, session } = await start();
    const taken: string[] = [];
    const serving = (name: string) => ({
      stop_instance: async () => {
        taken.push(name);
        return null;
      },
    });
    await world.runUntil(session.serve(serving("first")));
    await world.runUntil(session.kill());
    const params = { instanceUuid: "00000000-0000-4000-8000-000000000001", requestId: "req-1" };
    cluster.conductor.bus.cast(ONE, "stop_instance", params, "req-1");
    await world.advance(1_000);
    const next = connection.host(ONE);
    await world.runUntil(next.acquireLease());
    await world.runUntil(next.serve(serving("next")));
    await world.advance(1_000);
    expect(taken).toEqual(["next"]);
  });
});

describe("control over the connection", () => {
  async function offered(control: (host: string, action: HostAction) => Promise<ControlledHost>) {
    const parts = await start();
    const reportState = parts.connection.offerControl?.({ control });
    reportState?.({ host: ONE, state: "serving", detail: "" });
    reportState?.({ host: OTHER, state: "failed", detail: "its disk is full" });
    await parts.world.advance(10);
    return { ...parts, reportState: reportState };
  }

  test("hosts are known with their process and state, and again when the connection was made again", async () => {
    const { world, cluster, connection, runtime, reportState } = await offered(async (host) => ({
      host,
      state: "serving",
      detail: "",
    }));
    const { pid, machine } = runtime.processes;
    const known = [
      { host: ONE, state: "serving", detail: "", pid, machine },
      { host: OTHER, state: "failed", detail: "its disk is full", pid, machine },
    ];
    expect(cluster.conductor.controls.known()).toEqual(known);
    cluster.kill();
    await world.advance(1_000);
    await cluster.restart();
    await world.runUntil(connection.connected());
    await world.advance(10_000);
    expect(cluster.conductor.controls.known()).toEqual(known);
    reportState?.({ host: ONE, state: "killed", detail: "" });
    await world.advance(10);
    expect(cluster.conductor.controls.known()[0]).toMatchObject({ host: ONE, state: "killed" });
  });

  test("an action is handed to the process, and its answer back", async () => {
    const requests: unknown[] = [];
    const { world, cluster } = await offered(async (host, action) => {
      requests.push([host, action]);
      return { host, state: "killed", detail: "" };
    });
    const { controls } = cluster.conductor;
    expect(await world.runUntil(controls.control(ONE, "kill"))).toEqual({ host: ONE, state: "killed", detail: "" });
    expect(requests).toEqual([[ONE, "kill"]]);
  });

  test("what cannot be done names the host and the reason", async () => {
    const { world, cluster, runtime } = await offered(() => Promise.reject(new Error("its former life is not over")));
    const { controls } = cluster.conductor;
    await expect(world.runUntil(controls.control(ONE, "start"))).rejects.toThrow(
      `host ${ONE}: start failed: its former life is not over`,
    );
    await expect(world.runUntil(controls.control("nobody", "kill"))).rejects.toThrow(
      "host nobody: kill failed: no connected process controls this host",
    );
    const killed = controls.control(ONE, "kill").catch((error: Error) => error);
    runtime.kill();
    await world.runUntil(killed);
    expect(controls.known()).toEqual([]);
  });

  test("a process that kills itself has done what it was asked", async () => {
    const { world, cluster, runtime } = await offered(() => {
      runtime.kill();
      return new Promise(() => {});
    });
    const { controls } = cluster.conductor;
    expect(await world.runUntil(controls.control(ONE, "kill"))).toMatchObject({ host: ONE, state: "killed" });
  });
});
