import { describe, expect, it, onTestFinished } from "vitest";
import { REQUESTS, Topology } from "../../../src/nova-rpc/transport/topology.js";
import { RABBIT } from "../../fixtures/scripted-conductor.js";
import { connectToRabbitmq } from "./broker-connection.js";
import { hasPeer } from "./control-plane.js";
import { useRealNova } from "./use-real-nova.js";

const QUORUM = new Topology({ ...RABBIT, rabbitQuorumQueue: true, rabbitTransientQuorumQueue: true });
const ADD_CELL = "rabbitctl add_vhost cell2 && rabbitctl set_permissions -p cell2 guest '.*' '.*' '.*'";

describe.skipIf(!hasPeer)("RabbitMQ's queues", () => {
  const cloud = useRealNova();

  it("an agent with other queue types exits, and names the options to set", async () => {
    const nova = cloud();
    const options = ["oslo_messaging_rabbit.amqp_durable_queues=true"];
    const agent = await nova.startAgent("other-kind", { options, wait: false });
    expect((await agent.exited).code).toBe(4);
    expect(agent.stderr).toMatch(/'durable' for exchange 'nova'.*received 'true' but current is 'false'/);
    expect(agent.stderr).toContain("set amqp_durable_queues");
    expect(await nova.operator.service("other-kind")).toEqual({});
  });

  it("are quorum queues if options say so, in the virtual host of the URL", async () => {
    const { rc, output } = await cloud().plane.shell(ADD_CELL);
    expect(rc, output).toBe(0);
    const broker = connectToRabbitmq({ virtualHost: "cell2" });
    onTestFinished(() => broker.close());
    await broker.connected();
    const taken: string[] = [];
    const message = (body: string) => taken.push(body);
    await broker.consume(QUORUM.server("compute.q1", { exclusive: true }), { message });
    await broker.consume(QUORUM.fanoutServer("compute", "f".repeat(32)), { message });
    await broker.consume(QUORUM.replies(`reply_${"0".repeat(32)}`), { message });
    for (const [exchange, routingKey] of [
      [REQUESTS, "compute.q1"],
      [QUORUM.fanout("compute").name, "compute"],
      ["", `reply_${"0".repeat(32)}`],
    ] as const) {
      await broker.publish({ exchange, routingKey, body: routingKey, expiration: null });
    }
    await expect.poll(() => taken.toSorted()).toEqual(["compute", "compute.q1", `reply_${"0".repeat(32)}`]);
    const { output: queues } = await cloud().plane.shell("rabbitctl list_queues -p cell2 name type durable");
    expect(queues.match(/quorum\s+true$/gm)).toHaveLength(3);
    expect((await cloud().plane.shell("rabbitctl list_queues name")).output).not.toContain("compute.q1");
  });
});
