import { describe, expect, it, onTestFinished } from "vitest";
import { Unroutable } from "../../../src/runtime/message-broker.js";
import { eventually } from "../../process/support/cloud.js";
import { connectToRabbitmq, RABBITMQ } from "./broker-connection.js";
import { hasPeer } from "./control-plane.js";
import { TcpRelay } from "./tcp-relay.js";
import { useRealNova } from "./use-real-nova.js";

const EXCHANGE = { name: "lost", type: "topic", durable: false, autoDelete: false } as const;
const MESSAGE = { exchange: EXCHANGE.name, routingKey: "nobody", body: "{}", expiration: null };
const LOSE_IT = `rabbitctl eval 'ok = rabbit_exchange:delete(rabbit_misc:r(<<"/">>, exchange, <<"lost">>), false, <<"test">>).'`;

describe.skipIf(!hasPeer)("RabbitMQ without its exchanges", () => {
  const cloud = useRealNova();

  it("an exchange lost in an outage is declared again before the next message", async () => {
    const relay = await TcpRelay.to(RABBITMQ);
    const broker = connectToRabbitmq({ port: relay.port });
    onTestFinished(async () => {
      await broker.close();
      await relay.close();
    });
    await broker.connected();
    await broker.declare(EXCHANGE);
    await expect(broker.publish(MESSAGE)).rejects.toThrow(Unroutable);

    await relay.close();
    await eventually(
      async () => broker.state,
      (state) => state === "waiting",
    );
    const { rc, output } = await cloud().plane.shell(LOSE_IT);
    expect(rc, output).toBe(0);
    await relay.open();
    await broker.connected();
    // The rejection means that the exchange exists but has no queue.
    await expect(broker.publish(MESSAGE)).rejects.toThrow(Unroutable);
  });
});
