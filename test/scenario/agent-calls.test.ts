import { expect, test } from "vitest";
import type { AgentHandlers, RequestContext } from "../../src/conductor-client/port.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { agentHandlers } from "../fixtures/agent-handlers.js";
import { type AgentInWorld, startInProcessConductor } from "../fixtures/in-process-conductor.js";

const SOURCE = "devstack1";
const DESTINATION = "devstack2";
const REQUEST = { instanceUuid: "00000000-0000-4000-8000-000000000001", migrationId: 1, requestId: "req-1" };
const QUESTION = { ...REQUEST, blockMigration: null, data: {} };

type ReplyHandler = (callCount: number, context: RequestContext) => Promise<Readonly<Record<string, unknown>>>;

/** Starts two agents; requests to the destination take as long as `handle`. */
async function start(handle: ReplyHandler) {
  const world = new VirtualWorld();
  world.network.latency = 20;
  const cluster = await startInProcessConductor(world);
  let callCount = 0;
  const serve = async (agent: AgentInWorld) => {
    const handlers: AgentHandlers = {
      ...agentHandlers(() => {}),
      pre_live_migration: async (_, context) => {
        callCount += 1;
        return handle(callCount, context);
      },
    };
    await agent.session.acquireLease();
    await agent.session.serve(handlers);
  };
  const destination = cluster.agent(DESTINATION);
  await world.runUntil(serve(destination));
  const source = cluster.agent(SOURCE);
  await world.runUntil(source.session.acquireLease());
  const ask = (timeout = 600_000) =>
    source.session.callAgent(DESTINATION, "pre_live_migration", QUESTION, { timeout, requestId: "req-1" });
  const cutOff = (host: string, milliseconds: number) =>
    (async () => {
      world.network.partition(`agent-${host}`, "control-plane");
      await world.advance(milliseconds);
      world.network.heal(`agent-${host}`, "control-plane");
    })();
  return { world, cluster, destination, serve, ask, cutOff, callCount: () => callCount };
}

test("a call is carried out once, and answered, when the caller was cut off while it ran", async () => {
  const { world, ask, cutOff, callCount } = await start(async (n) => {
    await world.spawn({ name: "work" }).timers.sleep(15_000);
    return { answer: n };
  });
  const reply = ask();
  await world.advance(1_000);
  await cutOff(SOURCE, 30_000);
  expect(await world.runUntil(reply)).toEqual({ answer: 1 });
  expect(callCount()).toBe(1);
});

test("a call that runs when its caller is back is waited for, and not begun again", async () => {
  const { world, ask, cutOff, callCount } = await start(async (n) => {
    await world.spawn({ name: "work" }).timers.sleep(60_000);
    return { answer: n };
  });
  const reply = ask();
  await world.advance(1_000);
  await cutOff(SOURCE, 30_000);
  expect(await world.runUntil(reply)).toEqual({ answer: 1 });
  expect(callCount()).toBe(1);
});

test("the control plane is restarted while a call runs: the destination answers what it is about already", async () => {
  const { world, cluster, ask, cutOff, callCount } = await start(async (n) => {
    await world.spawn({ name: "work" }).timers.sleep(60_000);
    return { answer: n };
  });
  const reply = ask();
  await world.advance(1_000);
  cluster.kill();
  await cluster.restart();
  // The destination is back first: calls to a host without an agent fail immediately.
  await cutOff(SOURCE, 15_000);
  expect(await world.runUntil(reply)).toEqual({ answer: 1 });
  expect(callCount()).toBe(1);
});

test("an answer that did not reach the caller outlives the destination and the control plane", async () => {
  const { world, cluster, destination, serve, ask, cutOff, callCount } = await start(async (n) => {
    await world.spawn({ name: "work" }).timers.sleep(5_000);
    return { answer: n };
  });
  const reply = ask();
  await world.advance(1_000);
  world.network.partition(`agent-${SOURCE}`, "control-plane");
  await world.advance(10_000);
  destination.runtime.kill();
  await world.runUntil(serve(cluster.agent(DESTINATION)));
  cluster.kill();
  await cluster.restart();
  await cutOff(SOURCE, 20_000);
  expect(await world.runUntil(reply)).toEqual({ answer: 1 });
  expect(callCount()).toBe(1);
});

test("a destination that has to wait does not begin what its caller has given up", async () => {
  let began = false;
  const { world, ask } = await start(async (_, context) => {
    await world.spawn({ name: "lock" }).timers.sleep(20_000);
    context.assertCallerWaiting();
    began = true;
    return {};
  });
  const outcome = ask(10_000).catch((error: unknown) => error);
  await world.advance(30_000);
  expect(await outcome).toMatchObject({ code: "MessagingTimeout" });
  expect(began).toBe(false);
});

test("a caller that was cut off before it could ask waits no longer for that", async () => {
  let left: string | undefined;
  const { world, ask } = await start(async (_, context) => {
    await world.spawn({ name: "lock" }).timers.sleep(10_000);
    try {
      context.assertCallerWaiting();
    } catch (error) {
      left = String(error);
    }
    return {};
  });
  world.network.partition(`agent-${SOURCE}`, "control-plane");
  const outcome = ask(40_000).catch((error: unknown) => error);
  await world.advance(32_000);
  world.network.heal(`agent-${SOURCE}`, "control-plane");
  await world.advance(60_000);
  expect(await outcome).toMatchObject({ code: "MessagingTimeout" });
  expect(left).toMatch(/caller has stopped waiting/);
});

test("an agent whose host another boot holds asks nobody for anything", async () => {
  const { world, cluster, ask, callCount } = await start(async () => ({}));
  world.network.partition(`agent-${SOURCE}`, "control-plane");
  const outcome = ask().catch((error: Error) => error.name);
  await world.advance(15_000);
  const successor = cluster.agent(SOURCE, { process: "successor" });
  await world.runUntil(successor.session.acquireLease());
  world.network.heal(`agent-${SOURCE}`, "control-plane");
  expect(await world.runUntil(outcome)).toBe("HostLeaseHeld");
  expect(callCount()).toBe(0);
});
