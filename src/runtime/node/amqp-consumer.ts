import { type Connection, ConsumerStatus, type Consumer as LibraryConsumer } from "rabbitmq-client";
import { BrokerRejectedError, type Consumer, type ConsumerEvents, type Subscription } from "../message-broker.js";

/** Answers of a broker that stay the same when it is asked again. */
const FINAL = new Set(["ACCESS_REFUSED", "PRECONDITION_FAILED", "RESOURCE_LOCKED", "NOT_ALLOWED"]);

/** Reads one queue, on a channel of its own, so that what is refused of it closes no other. */
export class AmqpConsumer implements Consumer {
  /** Settles when it reads for the first time, or is refused. */
  readonly started: Promise<void>;
  readonly #library: LibraryConsumer;
  readonly #onClose: () => void;
  /** Each returns a message that was not taken to its queue. */
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
        // Acknowledged before the work is done, which returns at once: what takes long is not read again after a crash.
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

  /** The connection is lost; the library comes back by itself, once no handler is under way. */
  disconnected(): void {
    this.#active = false;
    this.#returnUntaken();
  }

  async close(): Promise<void> {
    this.#active = false;
    this.#closing = true;
    this.#onClose();
    const closed = this.#library.close();
    // The library has sent the cancellation by then: what is returned before it would come here again.
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

/** AMQP's name of the error, or the system's. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function toRejection(error: unknown, what: string): BrokerRejectedError {
  return new BrokerRejectedError(codeOf(error) ?? "UNKNOWN", `${what}: ${messageOf(error)}`);
}

/** Without the names of methods that the library puts before it, or that it does not know. */
export function messageOf(error: unknown): string {
  return error instanceof Error
    ? error.message.replace(/^(undefined|(Connection|Channel|Exchange|Queue|Basic)\w+): /, "")
    : String(error);
}
