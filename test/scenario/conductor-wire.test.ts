import { describe, expect, test } from "vitest";
import type { AgentHandlers, ConnectionState } from "../../src/conductor-client/port.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { agentHandlers } from "../fixtures/agent-handlers.js";
import { startInProcessConductor } from "../fixtures/in-process-conductor.js";

const SERVICE = { binary: "nova-compute", topic: "compute", version: 73, enableNewServices: true };
const INSTANCE = "00000000-0000-4000-8000-000000000001";

/** Creates handlers that reply like an agent with nothing to do, and record the requests. */
function handlers(requests: string[], own: Partial<AgentHandlers> = {}): AgentHandlers {
  return agentHandlers((method, _params, requestId) => requests.push(`${method} ${requestId}`), own);
}

async function start() {
  const world = new VirtualWorld();
  const cluster = await startInProcessConductor(world);
  const requests: string[] = [];
  const agent = cluster.agent("devstack1");
  await world.runUntil(agent.session.acquireLease());
  return { world, cluster, requests, agent, session: agent.session };
}

describe("calls", () => {
  test("read back what was written; errors arrive as their class", async () => {
    const { world, cluster, session } = await start();
    const service = await world.runUntil(session.call("service_create", { host: "devstack1", ...SERVICE }));
    await world.runUntil(session.call("service_report_state", { id: service.id }));
    const { host, binary } = service;
    const reported = await world.runUntil(session.call("service_get_by_host", { host, binary }));
    expect(reported).toMatchObject({ reportCount: 1, lastSeenUp: world.now });
    expect(cluster.store.services.list()).toEqual([reported]);
    await expect(world.runUntil(session.call("service_report_state", { id: 99 }))).rejects.toMatchObject({
      code: "ServiceNotFound",
    });
    const wrong = session.call("service_report_state", { id: -1 });
    await expect(world.runUntil(wrong)).rejects.toMatchObject({ code: "InvalidParameters" });
  });
  test("time out, over reconnections, and can be given up", async () => {
    const { world, cluster, session } = await start();
    cluster.kill();
    const before = world.now;
    const call = session.call("placement_access", {}, { timeout: 5_000 });
    await expect(world.runUntil(call)).rejects.toMatchObject({ code: "MessagingTimeout" });
    expect(world.now - before).toBe(5_000);
    const controller = new AbortController();
    const other = session.call("placement_access", {}, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(other).rejects.toThrow("enough");
  });

  test("too large to be sent are refused here, and not repeated for ever", async () => {
    const { world, agent, session } = await start();
    const details = "x".repeat(4 * 1024 * 1024);
    const finish = session.call("instance_action_event_finish", { eventId: 1, result: "Error", details });
    await expect(world.runUntil(finish)).rejects.toThrow(/found parameters of \d+ bytes, expected at most/);
    expect(agent.connection.state).toBe("connected");
  });
});

describe("casts", () => {
  test("reach an agent when it serves, with their request id, and not while it does not", async () => {
    const { world, cluster, session, requests } = await start();
    const cast = (id: string) =>
      cluster.conductor.bus.cast("devstack1", "start_instance", { instanceUuid: INSTANCE, requestId: id }, id);
    cast("req-1");
    await world.advance(1_000);
    expect(requests).toEqual([]);
    expect(cluster.conductor.bus.serves("devstack1")).toBe(false);
    await world.runUntil(session.serve(handlers(requests)));
    cast("req-2");
    await world.advance(10);
    expect(requests).toEqual(["start_instance req-1", "start_instance req-2"]);
    await world.runUntil(session.stopServing());
    cast("req-3");
    await world.advance(1_000);
    expect(requests).toHaveLength(2);
    expect(cluster.store.messages.pending("devstack1")).toHaveLength(1);
  });

  test("of a transaction that is undone are never sent", async () => {
    const { world, cluster, session, requests } = await start();
    await world.runUntil(session.serve(handlers(requests)));
    const work = () => {
      const params = { instanceUuid: INSTANCE, requestId: "req-1" };
      cluster.conductor.bus.cast("devstack1", "start_instance", params, "req-1");
      throw new Error("undone");
    };
    expect(() => cluster.store.transaction(work)).toThrow("undone");
    await world.advance(1_000);
    expect(requests).toEqual([]);
  });

  test("more than the window holds arrive all, in order", async () => {
    const { world, cluster, session, requests } = await start();
    const ids = Array.from({ length: 300 }, (_, index) => `req-${index}`);
    for (const id of ids) {
      cluster.conductor.bus.cast("devstack1", "stop_instance", { instanceUuid: INSTANCE, requestId: id }, id);
    }
    await world.runUntil(session.serve(handlers(requests)));
    await world.advance(1_000);
    expect(requests).toEqual(ids.map((id) => `stop_instance ${id}`));
  });

  test("one that was refused between two handlers is not lost when a later one overtook it", async () => {
    const { world, cluster, session, requests } = await start();
    world.network.latency = 20;
    await world.runUntil(session.serve(handlers(requests)));
    const cast = (id: string) =>
      cluster.conductor.bus.cast("devstack1", "start_instance", { instanceUuid: INSTANCE, requestId: id }, id);
    cast("req-1");
    await world.advance(2);
    cast("req-2");
    await world.advance(17);
    const stopped = session.stopServing();
    await world.advance(2);
    const served = session.serve(handlers(requests));
    await world.runUntil(Promise.all([stopped, served]));
    await world.advance(100);
    expect(requests).toEqual(["start_instance req-1", "start_instance req-2"]);
  });

  test("a handler that fails has taken its message", async () => {
    const { world, cluster, session, agent } = await start();
    const fail = async () => {
      throw new Error("boom");
    };
    await world.runUntil(session.serve(handlers([], { start_instance: fail })));
    const params = { instanceUuid: INSTANCE, requestId: "req-1" };
    cluster.conductor.bus.cast("devstack1", "start_instance", params, "req-1");
    await world.advance(10);
    expect(cluster.store.messages.pending("devstack1")).toEqual([]);
    expect(agent.runtime.logs).toMatchObject([{ level: "warn", message: "start_instance failed" }]);
  });
});

describe("calls to agents", () => {
  test("are answered by the host that is meant, from the control plane and from other agents", async () => {
    const { world, cluster, session } = await start();
    const second = await cluster.session("devstack2");
    await world.runUntil(second.acquireLease());
    const storage = async () => false;
    await world.runUntil(second.serve(handlers([], { check_instance_shared_storage: storage })));
    const { bus } = cluster.conductor;
    const enabled = bus.call("devstack2", "set_host_enabled", { enabled: false }, { requestId: "req-1" });
    expect(await world.runUntil(enabled)).toBe("disabled");
    const params = { instanceUuid: INSTANCE, token: { file: "x" } };
    const shared = session.callAgent("devstack2", "check_instance_shared_storage", params);
    expect(await world.runUntil(shared)).toBe(false);
  });

  test("fail at once when nobody serves the host, and in time when it does not answer", async () => {
    const { world, cluster, session } = await start();
    const { bus } = cluster.conductor;
    const call = (timeout: number) =>
      bus.call("devstack1", "set_host_enabled", { enabled: true }, { requestId: "r", timeout });
    const before = world.now;
    await expect(world.runUntil(call(60_000))).rejects.toMatchObject({ code: "MessagingTimeout" });
    expect(world.now).toBe(before);
    await world.runUntil(session.serve(handlers([], { set_host_enabled: () => new Promise(() => {}) })));
    const requestedAt = world.now;
    await expect(world.runUntil(call(3_000))).rejects.toThrow(/no response to set_host_enabled within 3000 ms/);
    expect(world.now - requestedAt).toBe(3_000);
  });

  test("fail when the agent dies, or answers with something else", async () => {
    const { world, cluster, agent, session } = await start();
    const { bus } = cluster.conductor;
    const call = () => bus.call("devstack1", "set_host_enabled", { enabled: true }, { requestId: "r" });
    const nonsense = (async () => ({ yes: true })) as unknown as AgentHandlers["set_host_enabled"];
    await world.runUntil(session.serve(handlers([], { set_host_enabled: nonsense })));
    await expect(world.runUntil(call())).rejects.toThrow(/returned an invalid result of/);
    await world.runUntil(session.stopServing());
    await world.runUntil(session.serve(handlers([], { set_host_enabled: () => new Promise(() => {}) })));
    const pendingCall = call();
    await world.advance(1);
    agent.runtime.kill();
    await expect(world.runUntil(pendingCall)).rejects.toMatchObject({ code: "MessagingTimeout" });
  });
});

describe("the connection", () => {
  test("tells its states, comes back with growing waits, and takes everything up again", async () => {
    const { world, cluster, agent, session, requests } = await start();
    const states: [ConnectionState, string][] = [];
    agent.connection.onState((state, detail) => states.push([state, detail]));
    await world.runUntil(session.serve(handlers(requests)));
    cluster.kill();
    await world.advance(30_000);
    const waits = states.filter(([state]) => state === "waiting").map(([, detail]) => detail);
    expect(waits.length).toBeGreaterThan(4);
    expect(waits.length).toBeLessThan(14);
    expect(waits.at(-1)).toMatch(/no control plane responds at ws:.*ECONNREFUSED.*next try in [2-5]\.\d s/);
    const pending = session.call("service_create", { host: "devstack1", ...SERVICE });
    await cluster.restart();
    expect(await world.runUntil(pending)).toMatchObject({ host: "devstack1" });
    expect(agent.connection.state).toBe("connected");
    expect(cluster.conductor.bus.serves("devstack1")).toBe(true);
  });

  test("a refused join token is final", async () => {
    const { world, cluster } = await start();
    const { connection, session } = cluster.agent("devstack9", { connect: { joinToken: "wrong" } });
    await expect(world.runUntil(connection.connected())).rejects.toMatchObject({ code: "JoinTokenRefused" });
    expect(connection.state).toBe("closed");
    await expect(session.call("placement_access", {})).rejects.toThrow(/the join token is missing or wrong/);
    await expect(session.acquireLease()).rejects.toMatchObject({ code: "JoinTokenRefused" });
  });

  test("gives up when it was told to", async () => {
    const world = new VirtualWorld();
    const cluster = await startInProcessConductor(world);
    cluster.kill();
    const { connection } = cluster.agent("devstack1", { connect: { giveUpAfter: 20_000 } });
    await expect(world.runUntil(connection.connected())).rejects.toMatchObject({ code: "ConductorUnreachable" });
    expect(connection.state).toBe("closed");
  });

  test("a closed one leaves nothing planned and refuses further calls", async () => {
    const { world, cluster, agent, session } = await start();
    await world.runUntil(agent.connection.close());
    await world.advance(60_000);
    expect(cluster.conductor.connections).toBe(0);
    expect(world.planned).toBe(0);
    await expect(session.call("placement_access", {})).rejects.toMatchObject({ code: "ConductorUnreachable" });
  });

  test("a conductor that stops is waited for", async () => {
    const { world, cluster, agent } = await start();
    cluster.conductor.stop();
    await world.advance(1);
    expect(agent.connection.state).toBe("waiting");
    cluster.kill();
    await cluster.restart();
    await world.runUntil(agent.connection.connected());
  });
});
