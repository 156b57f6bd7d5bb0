import type { MessageBroker } from "../../../src/runtime/message-broker.js";
import { connectToAmqp } from "../../../src/runtime/node/amqp-broker.js";

/** The port of the peer's RabbitMQ. */
export const RABBITMQ = 5_672;

/** Opens a connection for the test. */
export function connectToRabbitmq({ port = RABBITMQ, virtualHost = "/" } = {}): MessageBroker {
  return connectToAmqp({
    address: { hosts: [{ hostname: "127.0.0.1", port }], username: "guest", password: "guest", virtualHost, tls: null },
    connectionName: "a test",
    heartbeat: 60,
    retry: { first: 100, most: 100 },
  });
}
