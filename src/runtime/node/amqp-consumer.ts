import { type Connection, ConsumerStatus, type Consumer as LibraryConsumer } from "rabbitmq-client";
import { BrokerRejectedError, type Consumer, type ConsumerEvents, type Subscription } from "../message-broker.js";

/** Errors of a broker that a retry does not resolve. */
const FINAL = new Set(["ACCESS_REFUSED", "PRECONDITION_FAILED", "RESOURCE_LOCKED", "NOT_ALLOWED"]);

/** Consumes one queue on a separate channel, so that a rejection closes no other consumer's channel. */
export class AmqpConsumer implements Consumer {
  /** Resolves when consuming starts for the first time; rejects if the broker rejects it. */
  readonly started: Promise<void>;
  readonly #library: LibraryConsumer;
  readonly #onClose: () => void;
  /** Each function requeues a message that this consumer did not accept. */
  #untaken: (() => void)[] = [];
  #active = false;
  #closing = false;

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
        const text = textOf(body);
        if (events.takes?.(text) === false) {
          return this.#leave();
        }
        // Acknowledged before the work is done, so that a message is not redelivered after a crash. `message` returns
        // at once.
        events.message(text);
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
        this.disconnected();
        if (isFinalRejection(error)) {
          const rejection = toRejection(error, `queue ${queue.name}`);
          events.rejected?.(rejection);
          reject(rejection);
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

  /** Handles a lost connection. The library reconnects by itself once no handler is running. */
  disconnected(): void {
    this.#active = false;
    this.#returnUntaken();
  }

  async close(): Promise<void> {
    this.#active = false;
    this.#closing = true;
    this.#onClose();
    const closed = this.#library.close();
    // By then the library has sent the cancellation. A message requeued earlier would be delivered here again.
    setImmediate(() => this.#returnUntaken());
    await closed;
  }

  #leave(): Promise<ConsumerStatus> | ConsumerStatus {
    if (this.#closing) {
      return ConsumerStatus.REQUEUE;
    }
    return new Promise((resolve) => {
      this.#untaken.push(() => resolve(ConsumerStatus.REQUEUE));
    });
  }

  #returnUntaken(): void {
    const untaken = this.#untaken;
    this.#untaken = [];
    for (const giveBack of untaken) {
      giveBack();
    }
  }
}

function textOf(body: unknown): string {
  return Buffer.isBuffer(body) ? body.toString("utf8") : typeof body === "string" ? body : JSON.stringify(body);
}

export function isFinalRejection(error: unknown): boolean {
  return FINAL.has(codeOf(error) ?? "");
}

/** Returns AMQP's name of the error, or the system's error code. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function toRejection(error: unknown, what: string): BrokerRejectedError {
  return new BrokerRejectedError(codeOf(error) ?? "UNKNOWN", `${what}: ${brokerMessage(error)}`);
}

/**
 * Returns the message without the method names that the library prepends, or "undefined" if it does not know the
 * method.
 */
export function brokerMessage(error: unknown): string {
  return error instanceof Error
    ? error.message.replace(/^(undefined|(Connection|Channel|Exchange|Queue|Basic)\w+): /, "")
    : String(error);
}
