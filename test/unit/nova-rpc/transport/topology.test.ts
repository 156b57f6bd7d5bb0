import { describe, expect, it } from "vitest";
import { compileNovaConfig } from "../../../../src/config/nova-config.js";
import { Topology } from "../../../../src/nova-rpc/transport/topology.js";

function topology(options: Readonly<Record<string, string>> = {}): Topology {
  const commandLine = Object.entries(options).map(([option, value]) => ({
    section: "oslo_messaging_rabbit",
    option,
    value,
    flag: "-o",
  }));
  const sources = { files: [], environment: {}, commandLine };
  return new Topology(compileNovaConfig(sources, { stateDir: "/state", hostname: "m" }).config.osloMessagingRabbit);
}

describe("exchanges and queues", () => {
  it("are by default those of a Zed cloud", () => {
    const zed = topology();
    expect(zed.requests()).toEqual({ name: "nova", type: "topic", durable: false, autoDelete: false });
    expect(zed.fanout("scheduler")).toEqual({
      name: "scheduler_fanout",
      type: "fanout",
      durable: false,
      autoDelete: true,
    });
    expect(zed.server("compute.h", { exclusive: true })).toMatchObject({
      queue: { name: "compute.h", durable: false, autoDelete: false, exclusive: false, arguments: {} },
      bindings: [{ exchange: "nova", routingKey: "compute.h" }],
      exclusive: true,
    });
    expect(zed.replies("reply_1").queue).toMatchObject({ durable: false, arguments: { "x-expires": 1_800_000 } });
    expect(zed.fanoutServer("compute", "ab")).toMatchObject({
      queue: { name: "compute_fanout_ab", arguments: { "x-expires": 1_800_000 } },
      bindings: [{ exchange: "compute_fanout", routingKey: "compute" }],
    });
  });

  it("are durable if amqp_durable_queues is set, except those of one process", () => {
    const durable = topology({ amqp_durable_queues: "true" });
    expect(durable.requests().durable).toBe(true);
    expect(durable.server("compute", { exclusive: false }).queue).toMatchObject({ durable: true, arguments: {} });
    expect(durable.replies("reply_1").queue.durable).toBe(false);
    expect(durable.fanout("compute").durable).toBe(false);
  });

  it("are quorum queues if configured, without exclusive consumers", () => {
    const quorum = topology({ rabbit_quorum_queue: "true", rabbit_quorum_delivery_limit: "3" });
    expect(quorum.server("compute.h", { exclusive: true })).toMatchObject({
      queue: { durable: true, arguments: { "x-queue-type": "quorum", "x-delivery-limit": 3 } },
      exclusive: false,
    });
    expect(quorum.replies("reply_1").queue.arguments).toEqual({ "x-expires": 1_800_000 });
    const all = topology({ rabbit_transient_quorum_queue: "true", rabbit_transient_queues_ttl: "0" });
    expect(all.replies("reply_1").queue).toMatchObject({ durable: true, arguments: { "x-queue-type": "quorum" } });
    expect(all.replies("reply_1").queue.arguments).not.toHaveProperty("x-expires");
    expect(all.fanout("compute")).toMatchObject({ durable: true, autoDelete: false });
  });
});
