import type { Connection, Consumer as LibraryConsumer } from "rabbitmq-client";
import { ConsumerStatus } from "rabbitmq-client";
import type { Consumer, ConsumerEvents, Subscription } from "../message-broker.js";
import { isFinalRefusal, refusalOf } from "./amqp-refusal.js";

/** Reads one queue, on a channel of its own, so that what is refused of it closes no other. */
export class AmqpConsumer implements Consumer {
  /** Settles when it reads for the first time, or is refused. */
  readonly started: Promise<void>;
  readonly #library: LibraryConsumer;
  readonly #onClose: () => void;
  #active = false;

  constructor(connection: Connection, subscription: Subscription, events: ConsumerEvents, onClose: () => void) {
    const { queue, exchanges, bindings, exclusive } = subscription;
    this.#onClose = onClose;
    this.#library = connection.createConsumer(
      {
        queue: queue.name,
        exclusive,
        queueOptions: {
          queue: queue.name,
          durable: queue.durable,
          autoDelete: queue.autoDelete,
          exclusive: queue.exclusive,
          arguments: queue.arguments,
        },
        exchanges: exchanges.map(({ name, ...rest }) => ({ exchange: name, ...rest })),
        queueBindings: bindings.map((binding) => ({ queue: queue.name, ...binding })),
      },
      ({ body }) => {
        // Acknowledged before the work is done, which returns at once: what takes long is not read again after a crash.
        events.message(textOf(body));
        return ConsumerStatus.ACK;
      },
    );
    this.started = new Promise((resolve, reject) => {
      this.#library.on("ready", () => {
        this.#active = true;
        events.active?.();
        resolve();
      });
      this.#library.on("error", (error: unknown) => {
        this.#active = false;
        if (isFinalRefusal(error)) {
          const refusal = refusalOf(error, `queue ${queue.name}`);
          events.refused?.(refusal);
          reject(refusal);
        }
      });
    });
    this.started.catch(() => {
      if (!this.#active) {
        void this.close();
      }
    });
  }

  get active(): boolean {
    return this.#active;
  }

  /** The connection is lost; the library comes back by itself. */
  disconnected(): void {
    this.#active = false;
  }

  async close(): Promise<void> {
    this.#active = false;
    this.#onClose();
    await this.#library.close();
  }
}

function textOf(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString("utf8") : typeof body === "string" ? body : JSON.stringify(body);
}
