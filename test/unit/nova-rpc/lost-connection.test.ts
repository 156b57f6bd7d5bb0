import { describe, expect, it } from "vitest";
import { NO_OBSERVER } from "../../../src/conductor-client/port.js";
import { connectToNova } from "../../../src/nova-rpc/connect-to-nova.js";
import { adminContext } from "../../../src/nova-rpc/messages/oslo-message.js";
import { Rpc } from "../../../src/nova-rpc/messages/rpc.js";
import { OLDEST_PROFILE } from "../../../src/nova-rpc/objects/profile.js";
import { DeliveryError } from "../../../src/runtime/message-broker.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { MemoryBroker } from "../../fixtures/memory-broker.js";
import { UUID } from "../../fixtures/nova-session-harness.js";
import { RABBIT, scriptConductor, TOPOLOGY } from "../../fixtures/scripted-conductor.js";

/** Creates a host whose connection can be cut; nothing is sent until it is restored. */
async function cuttable(handler: Parameters<typeof scriptConductor>[1]) {
  const runtime = createVirtualRuntime();
  const broker = new MemoryBroker();
  const requests = await scriptConductor(broker, handler);
  const inner = broker.connect();
  const active: (() => void)[] = [];
  let cut = false;
  const connection = connectToNova({
    address: { hosts: [], username: "", password: "", virtualHost: "/", tls: null },
    rabbit: RABBIT,
    runtime,
    connectToBroker: () => ({
      state: "connected",
      onState: (listener) => inner.onState(listener),
      connected: () => inner.connected(),
      declare: (exchange) => inner.declare(exchange),
      publish: (publication) =>
        cut ? Promise.reject(new DeliveryError("unsent", "not connected to the broker")) : inner.publish(publication),
      consume: async (subscription, events) => {
        const consumer = await inner.consume(subscription, events);
        active.push(() => events.active?.());
        return {
          close: () => consumer.close(),
          get active() {
            return !cut && consumer.active;
          },
        };
      },
      consumersOf: (queue) => inner.consumersOf(queue),
      hasExchange: (exchange) => inner.hasExchange(exchange),
      hasQueue: (queue) => inner.hasQueue(queue),
      close: () => inner.close(),
    }),
  });
  await runtime.runUntil(connection.connected());
  const session = connection.host("cut");
  await runtime.runUntil(session.acquireLease());
  await session.serve({});
  const set = (now: boolean) => {
    cut = now;
    for (const notify of now ? [] : active) {
      notify();
    }
  };
  return { runtime, session, connection, requests: requests, set };
}

describe("a connection that is lost and restored", () => {
  it("sends a pending write after it is restored, since the write was not delivered", async () => {
    const { runtime, session, requests, set } = await cuttable(() => [{}, null]);
    set(true);
    const fault = { uuid: UUID, code: 500, message: "broken", host: "cut" };
    const saved = session.call("instance_add_fault", fault);
    await runtime.advance(30_000);
    expect(requests).toEqual([]);
    set(false);
    await runtime.runUntil(saved);
    expect(requests.map(({ what }) => what)).toEqual(["InstanceFault.create"]);
  });

  it.each([
    [{}, { first: 1_000, most: 5_000 }],
    [{ rabbitIntervalMax: 3 }, { first: 1_000, most: 3_000 }],
    [{ rabbitRetryInterval: 8 }, { first: 8_000, most: 8_000 }],
  ])("tries to reconnect every few seconds, even after a long outage: %j", async (options, expected) => {
    const runtime = createVirtualRuntime();
    const retryOptions: object[] = [];
    const connection = connectToNova({
      address: { hosts: [], username: "", password: "", virtualHost: "/", tls: null },
      rabbit: { ...RABBIT, ...options },
      runtime,
      connectToBroker: ({ retry }) => {
        retryOptions.push(retry);
        return new MemoryBroker().connect();
      },
    });
    await connection.close();
    expect(retryOptions).toEqual([expected]);
  });

  it("fails a call after its timeout, which the message contains, however late the call was sent", async () => {
    const runtime = createVirtualRuntime();
    const broker = new MemoryBroker().connect();
    const sentAt = runtime.clock.monotonic() + 8_000;
    broker.publish = async () => {
      if (runtime.clock.monotonic() < sentAt) {
        throw new DeliveryError("unsent", "not connected to the broker");
      }
    };
    const options = { topology: TOPOLOGY, runtime, lookOnly: false, observer: NO_OBSERVER };
    const rpc = new Rpc({ ...options, broker, profile: () => OLDEST_PROFILE });
    const request = { topic: "conductor", method: "ping", version: "3.0", args: {}, context: adminContext("req-1", 0) };
    const began = runtime.clock.monotonic();
    const reply = runtime.runUntil(rpc.call(request, { timeout: 10_000 }));
    await expect(reply).rejects.toThrow(/^no response to ping to conductor in 10 s$/);
    expect(runtime.clock.monotonic() - began).toBe(10_000);
  });

  it.each([
    ["it is connected", new DeliveryError("unsent", "not connected to the broker")],
    [
      "the other host is back at its queue, which a broker that was restarted does not have",
      new DeliveryError("unroutable", "no queue"),
    ],
  ])("sends a cast once %s, and fails it after a minute", async (_when, publishError) => {
    const runtime = createVirtualRuntime();
    const broker = new MemoryBroker().connect();
    let left = 3;
    broker.publish = async () => {
      left -= 1;
      if (left >= 0) {
        throw publishError;
      }
    };
    const options = { topology: TOPOLOGY, runtime, lookOnly: false, observer: NO_OBSERVER };
    const rpc = new Rpc({ ...options, broker, profile: () => OLDEST_PROFILE });
    const context = adminContext("req-1", 0);
    const request = { topic: "compute.h", method: "confirm_resize", version: "6.0", args: {}, context };
    await runtime.runUntil(rpc.cast(request));
    expect(left).toBe(-1);
    left = 1_000_000;
    const began = runtime.clock.monotonic();
    await expect(runtime.runUntil(rpc.cast(request))).rejects.toThrow(
      `confirm_resize to compute.h: ${publishError.message}`,
    );
    expect(runtime.clock.monotonic() - began).toBe(60_000);
  });

  it("lets operations in progress wait for the lease until it is restored or lost", async () => {
    const { runtime, session, connection, set } = await cuttable(() => null);
    await runtime.runUntil(Promise.resolve(session.leaseSettled()));
    set(true);
    expect(session.leaseHeld).toBe(false);
    let settled = false;
    const waiting = Promise.resolve(session.leaseSettled()).then(() => {
      settled = true;
    });
    await runtime.advance(30_000);
    expect(settled).toBe(false);
    set(false);
    await runtime.runUntil(waiting);
    expect(session.leaseHeld).toBe(true);
    set(true);
    const closing = Promise.resolve(session.leaseSettled());
    await connection.close();
    await runtime.runUntil(closing);
    expect(session.leaseHeld).toBe(false);
  });

  it("sends nothing for a host that was killed meanwhile, and the host is free", async () => {
    const { runtime, session, connection, requests, set } = await cuttable(() => [{}, null]);
    set(true);
    let settled = false;
    const fault = { uuid: UUID, code: 500, message: "broken", host: "cut" };
    const end = () => {
      settled = true;
    };
    session.call("instance_add_fault", fault).then(end, end);
    await runtime.advance(1_000);
    await session.kill();
    session.call("instance_add_fault", fault).then(end, end);
    set(false);
    await runtime.advance(120_000);
    expect([requests, settled, session.leaseHeld]).toEqual([[], false, false]);
    const next = connection.host("cut");
    await runtime.runUntil(next.acquireLease());
    await next.serve({});
    expect(next.leaseHeld).toBe(true);
  });
});
