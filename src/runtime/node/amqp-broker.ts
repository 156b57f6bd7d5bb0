import type { TcpSocketConnectOpts } from "node:net";
import type { TLSSocketOptions } from "node:tls";
import { type Channel, Connection, type Publisher } from "rabbitmq-client";
import {
  type BrokerOptions,
  type BrokerRejectedError,
  type BrokerState,
  type BrokerTls,
  type Consumer,
  type ConsumerEvents,
  DeliveryError,
  type Exchange,
  type MessageBroker,
  type Publication,
  type Queue,
  type Subscription,
} from "../message-broker.js";
import { AmqpConsumer, brokerMessage, codeOf, isFinalRejection, toRejection } from "./amqp-consumer.js";

type Declaration = Parameters<Connection["exchangeDeclare"]>[0];

/** Max milliseconds that a publication waits for a connection. */
const ACQUIRE_TIMEOUT = 5_000;
/** The library's code for a publication that got no channel in time. */
const NOT_CONNECTED = "TIMEOUT";

/**
 * A server that is not RabbitMQ, such as the HTTP management port, seems to announce frames of gigabytes. The library
 * requests a complete frame from the socket. Node throws an uncaught error if that exceeds both its limit and this
 * value.
 */
const SOCKET: Partial<TcpSocketConnectOpts> & { readonly highWaterMark: number } = { highWaterMark: 2 ** 32 };

/** Connects to RabbitMQ and reconnects until it is closed. Returns immediately; see `connected()`. */
export function connectToAmqp(options: BrokerOptions): MessageBroker {
  return new AmqpBroker(options);
}

/**
 * Consumes on one connection and publishes on another, so that consuming continues while the broker blocks publishers.
 */
class AmqpBroker implements MessageBroker {
  readonly #options: BrokerOptions;
  readonly #reading: Connection;
  readonly #publishing: Connection;
  readonly #publisher: Publisher;
  /** Declared exchanges. A restarted broker may have lost them and then rejects publications to them. */
  readonly #declared: Declaration[] = [];
  readonly #listeners: ((state: BrokerState, detail: string) => void)[] = [];
  readonly #consumers = new Set<AmqpConsumer>();
  /** Return reasons of unroutable publications, by message id. */
  readonly #returned = new Map<string, string>();
  #published = 0;
  #state: BrokerState = "connecting";
  #failure: BrokerRejectedError | undefined;
  #up = { reading: false, publishing: false };
  #waiters: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#reading = this.#connect("reading");
    this.#publishing = this.#connect("publishing");
    // The library redeclares these on each new channel before publishing, and reads the array at that time.
    this.#publisher = this.#publishing.createPublisher({ confirm: true, exchanges: this.#declared });
    this.#publisher.on("basic.return", ({ messageId, replyText }) => {
      this.#returned.set(String(messageId), replyText);
    });
  }

  get state(): BrokerState {
    return this.#state;
  }

  onState(listener: (state: BrokerState, detail: string) => void): void {
    this.#listeners.push(listener);
  }

  connected(): Promise<void> {
    if (this.#failure !== undefined) {
      return Promise.reject(this.#failure);
    }
    if (this.#state === "connected") {
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  async declare({ name, type, durable, autoDelete }: Exchange): Promise<void> {
    const declaration = { exchange: name, type, durable, autoDelete };
    try {
      await this.#publishing.exchangeDeclare(declaration);
    } catch (error) {
      throw toBrokerError(error, `exchange ${name}`);
    }
    if (!this.#declared.some(({ exchange }) => exchange === name)) {
      this.#declared.push(declaration);
    }
  }

  async publish({ exchange, routingKey, body, expiration }: Publication): Promise<void> {
    this.#published += 1;
    const messageId = String(this.#published);
    const envelope = {
      exchange,
      routingKey,
      messageId,
      mandatory: true,
      durable: true,
      priority: 0,
      contentType: "application/json",
      contentEncoding: "utf-8",
      ...(expiration === null ? {} : { expiration: String(Math.max(0, Math.round(expiration))) }),
    };
    try {
      await this.#publisher.send(envelope, Buffer.from(body, "utf8"));
    } catch (error) {
      this.#returned.delete(messageId);
      throw codeOf(error) === NOT_CONNECTED
        ? new DeliveryError("unsent", `not connected to the broker: ${brokerMessage(error)}`)
        : new DeliveryError("unconfirmed", `not confirmed by the broker: ${brokerMessage(error)}`);
    }
    // `basic.return` is emitted right after the confirmation.
    await new Promise((resolve) => setImmediate(resolve));
    const reason = this.#returned.get(messageId);
    if (reason !== undefined) {
      this.#returned.delete(messageId);
      throw new DeliveryError(
        "unroutable",
        `no queue for ${exchange === "" ? "" : `${exchange}/`}${routingKey}: ${reason}`,
      );
    }
  }

  async consume(subscription: Subscription, events: ConsumerEvents): Promise<Consumer> {
    const consumer = new AmqpConsumer(this.#reading, subscription, events, () => this.#consumers.delete(consumer));
    this.#consumers.add(consumer);
    await consumer.started;
    return consumer;
  }

  consumersOf(queue: string): Promise<number | null> {
    return this.#look(`queue ${queue}`, async (channel) => {
      const { consumerCount } = await channel.queueDeclare({ queue, passive: true });
      return consumerCount;
    });
  }

  // Only an active declaration compares properties. It changes nothing if the exchange exists.
  async hasExchange({ name, type, durable, autoDelete }: Exchange): Promise<boolean> {
    const found = await this.#look(`exchange ${name}`, async (channel) => {
      await channel.exchangeDeclare({ exchange: name, passive: true });
      await channel.exchangeDeclare({ exchange: name, type, durable, autoDelete });
      return true;
    });
    return found ?? false;
  }

  async hasQueue({ name, durable, autoDelete, exclusive, arguments: more }: Queue): Promise<boolean> {
    const found = await this.#look(`queue ${name}`, async (channel) => {
      await channel.queueDeclare({ queue: name, passive: true });
      await channel.queueDeclare({ queue: name, durable, autoDelete, exclusive, arguments: more });
      return true;
    });
    return found ?? false;
  }

  async close(): Promise<void> {
    this.#enter("closed", "closed by this program");
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
    await this.#publisher.close().catch(() => {});
    await Promise.all([this.#reading.close(), this.#publishing.close()]);
  }

  /**
   * Uses a separate channel, since the broker closes a channel after a rejected operation. Returns null if the object
   * does not exist.
   */
  async #look<T>(what: string, action: (channel: Channel) => Promise<T>): Promise<T | null> {
    const channel = await this.#reading.acquire();
    try {
      return await action(channel);
    } catch (error) {
      if (codeOf(error) === "NOT_FOUND") {
        return null;
      }
      throw toBrokerError(error, what);
    } finally {
      await channel.close();
    }
  }

  #connect(what: "reading" | "publishing"): Connection {
    const { address, connectionName, heartbeat, retry } = this.#options;
    const { hosts, username, password, virtualHost, tls } = address;
    const [first] = hosts;
    const connection = new Connection({
      ...(hosts.length === 1 && first !== undefined
        ? { hostname: first.hostname, port: first.port }
        : { hosts: hosts.map(({ hostname, port }) => `${hostname}:${port}`) }),
      username,
      password,
      vhost: virtualHost,
      connectionName,
      heartbeat,
      noDelay: true,
      socket: SOCKET as TcpSocketConnectOpts,
      retryLow: retry.first,
      retryHigh: retry.most,
      acquireTimeout: ACQUIRE_TIMEOUT,
      ...(tls === null ? {} : { tls: tlsOptions(tls) }),
    });
    connection.on("connection", () => {
      this.#up = { ...this.#up, [what]: true };
      if (this.#up.reading && this.#up.publishing) {
        this.#enter("connected", this.#place());
      }
    });
    connection.on("error", (error: unknown) => {
      if (isFinalRejection(error)) {
        this.#fail(toRejection(error, "the login"));
        return;
      }
      this.#up = { ...this.#up, [what]: false };
      for (const consumer of what === "reading" ? this.#consumers : []) {
        consumer.disconnected();
      }
      this.#enter("waiting", brokerMessage(error));
    });
    return connection;
  }

  #fail(rejection: BrokerRejectedError): void {
    this.#failure = rejection;
    this.#enter("waiting", rejection.message);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { reject } of waiters) {
      reject(rejection);
    }
  }

  #place(): string {
    return this.#options.address.hosts.map(({ hostname, port }) => `${hostname}:${port}`).join(", ");
  }

  #enter(state: BrokerState, detail: string): void {
    if (this.#state === "closed" || (this.#state === state && state === "connected")) {
      return;
    }
    this.#state = state;
    if (state === "connected") {
      this.#failure = undefined;
      const waiters = this.#waiters;
      this.#waiters = [];
      for (const { resolve } of waiters) {
        resolve();
      }
    }
    for (const listener of this.#listeners) {
      listener(state, detail);
    }
  }
}

function tlsOptions({ ca, cert, key, verifyHostname }: BrokerTls): TLSSocketOptions & Record<string, unknown> {
  return {
    ...(ca === null ? { rejectUnauthorized: false } : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
    ...(verifyHostname ? {} : { checkServerIdentity: () => undefined }),
  };
}

function toBrokerError(error: unknown, what: string): Error {
  return codeOf(error) === undefined
    ? new DeliveryError("unconfirmed", brokerMessage(error))
    : toRejection(error, what);
}
