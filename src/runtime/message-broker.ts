/** The addresses of a broker and the credentials for it. */
export interface BrokerAddress {
  /** Tried one after the other. */
  readonly hosts: readonly { readonly hostname: string; readonly port: number }[];
  readonly username: string;
  readonly password: string;
  readonly virtualHost: string;
  /** Null without TLS. */
  readonly tls: BrokerTls | null;
}

/** PEM strings. If null: the system's CAs, or no client certificate. */
export interface BrokerTls {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly verifyHostname: boolean;
}

export interface BrokerOptions {
  readonly address: BrokerAddress;
  /** The connection's name in the broker's management tools. */
  readonly connectionName: string;
  /** Seconds without traffic after which a connection counts as lost. */
  readonly heartbeat: number;
  /** Milliseconds between connection attempts: the first delay and the max. */
  readonly retry: { readonly first: number; readonly most: number };
}

export interface Exchange {
  readonly name: string;
  readonly type: "topic" | "fanout";
  readonly durable: boolean;
  readonly autoDelete: boolean;
}

export interface Queue {
  readonly name: string;
  readonly durable: boolean;
  readonly autoDelete: boolean;
  /** Only this connection may use it; deleted with the connection. */
  readonly exclusive: boolean;
  readonly arguments: Readonly<Record<string, string | number>>;
}

export interface Subscription {
  readonly queue: Queue;
  /** Declared before the queue is bound. */
  readonly exchanges: readonly Exchange[];
  readonly bindings: readonly { readonly exchange: string; readonly routingKey: string }[];
  /** The broker rejects other consumers of the queue. */
  readonly exclusive: boolean;
}

export interface Publication {
  /** Empty: the routing key is the name of a queue. */
  readonly exchange: string;
  readonly routingKey: string;
  /** JSON. */
  readonly body: string;
  /** Milliseconds after which the broker drops an unconsumed message; null: never. */
  readonly expiration: number | null;
}

/** Consumes a queue. Resubscribes by itself after a lost connection. */
export interface Consumer {
  /** Whether it is consuming now. */
  readonly active: boolean;
  /** Stops consuming; the queue remains. */
  close(): Promise<void>;
}

export interface ConsumerEvents {
  /** Called with each message after its acknowledgement. */
  message(body: string): void;
  /**
   * Returns whether this consumer accepts a message. A message that is not accepted stays unacknowledged: it returns to
   * its queue when the consumer, its connection or its process ends. Absent: all messages are accepted.
   */
  takes?(body: string): boolean;
  /** Called when the broker rejects a resubscription. The consumer continues to retry. */
  rejected?(error: BrokerRejectedError): void;
  /** Called whenever consuming starts, initially and after each reconnection. */
  active?(): void;
}

export type BrokerState = "connecting" | "connected" | "waiting" | "closed";

/** A message broker and the connections to it, which reconnect by themselves. */
export interface MessageBroker {
  readonly state: BrokerState;
  onState(listener: (state: BrokerState, detail: string) => void): void;
  /**
   * Resolves once connected, immediately if it already is.
   * @throws {BrokerRejectedError} when the login or the virtual host is rejected
   */
  connected(): Promise<void>;
  /**
   * Declares an exchange before the next publication, and again after each reconnection.
   * @throws {BrokerRejectedError} when it exists with other properties
   */
  declare(exchange: Exchange): Promise<void>;
  /**
   * Resolves when the broker has put the message in a queue.
   * @throws {DeliveryError}
   */
  publish(publication: Publication): Promise<void>;
  /**
   * Resolves when consuming has started.
   * @throws {BrokerRejectedError}
   */
  consume(subscription: Subscription, events: ConsumerEvents): Promise<Consumer>;
  /** Returns the number of consumers of a queue; null if the queue does not exist. */
  consumersOf(queue: string): Promise<number | null>;
  /**
   * Returns whether the exchange exists, without creating it.
   * @throws {BrokerRejectedError} when it exists with other properties
   */
  hasExchange(exchange: Exchange): Promise<boolean>;
  /** Like {@link hasExchange}, for a queue. */
  hasQueue(queue: Queue): Promise<boolean>;
  close(): Promise<void>;
}

/** A message was not delivered, or perhaps not. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
  /**
   * `unroutable`: no queue matches, so the message is lost. `unsent`: there was no connection in time. `unconfirmed`: the
   * connection was lost, and it is unknown whether the message will arrive.
   */
  readonly code: "unroutable" | "unsent" | "unconfirmed";

  constructor(code: DeliveryError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** The broker rejected an operation; a retry does not help. */
export class BrokerRejectedError extends Error {
  override readonly name = "RefusedByBroker";
  /** AMQP's code: `ACCESS_REFUSED`, `RESOURCE_LOCKED`, `PRECONDITION_FAILED`, `NOT_ALLOWED`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
