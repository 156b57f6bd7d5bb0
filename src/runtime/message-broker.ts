/** Where a broker is, and as whom to log in. */
export interface BrokerAddress {
  /** Tried one after the other. */
  readonly hosts: readonly { readonly hostname: string; readonly port: number }[];
  readonly username: string;
  readonly password: string;
  readonly virtualHost: string;
  /** Null: without TLS. */
  readonly tls: BrokerTls | null;
}

/** PEM texts; null: the system's, or none. */
export interface BrokerTls {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly verifyHostname: boolean;
}

export interface BrokerOptions {
  readonly address: BrokerAddress;
  /** What the broker's operator sees of the connection. */
  readonly connectionName: string;
  /** Seconds without a sign of life after which a connection counts as lost. */
  readonly heartbeat: number;
  /** Milliseconds between tries to connect: first, and most. */
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
  /** For its connection alone, and gone with it. */
  readonly exclusive: boolean;
  readonly arguments: Readonly<Record<string, string | number>>;
}

export interface Subscription {
  readonly queue: Queue;
  /** Declared before the queue is bound. */
  readonly exchanges: readonly Exchange[];
  readonly bindings: readonly { readonly exchange: string; readonly routingKey: string }[];
  /** No other consumer is let in. */
  readonly exclusive: boolean;
}

export interface Publication {
  /** Empty: the routing key is the name of a queue. */
  readonly exchange: string;
  readonly routingKey: string;
  /** JSON text. */
  readonly body: string;
  /** Milliseconds after which the broker drops it untaken; null: never. */
  readonly expiration: number | null;
}

/** What reads a queue. It comes back by itself after a lost connection. */
export interface Consumer {
  /** Whether it reads now. */
  readonly active: boolean;
  /** Stops reading; the queue stays. */
  close(): Promise<void>;
}

export interface ConsumerEvents {
  /** Called with each message, once it is acknowledged. */
  message(body: string): void;
  /**
   * Whether a message is taken. One that is not stays unacknowledged: it returns to its queue when this consumer, its connection
   * or its process ends. Absent: all are taken.
   */
  takes?(body: string): boolean;
  /** It was refused when it came back; it keeps trying. */
  rejected?(error: BrokerRejectedError): void;
  /** It reads, at first and again. */
  active?(): void;
}

export type BrokerState = "connecting" | "connected" | "waiting" | "closed";

/** A broker of messages, and the connections to it, which come back by themselves. */
export interface MessageBroker {
  readonly state: BrokerState;
  onState(listener: (state: BrokerState, detail: string) => void): void;
  /** Resolves once connected; at once if it is. @throws {BrokerRejectedError} the login or the virtual host is refused */
  connected(): Promise<void>;
  /** Declares an exchange before the next publication, and again after each reconnection. @throws {BrokerRejectedError} it is there with other properties */
  declare(exchange: Exchange): Promise<void>;
  /**
   * Resolves when the broker has it in a queue.
   * @throws {Unroutable} no queue takes it: nobody will get it
   * @throws {Unconfirmed} the connection was lost, or there is none: whether it will arrive is unknown
   */
  publish(publication: Publication): Promise<void>;
  /** Resolves when it reads. @throws {BrokerRejectedError} */
  consume(subscription: Subscription, events: ConsumerEvents): Promise<Consumer>;
  /** How many consumers a queue has; null: there is no such queue. */
  consumersOf(queue: string): Promise<number | null>;
  /** Whether it is there; nothing is made. @throws {BrokerRejectedError} it is there with other properties */
  hasExchange(exchange: Exchange): Promise<boolean>;
  /** As {@link hasExchange}. */
  hasQueue(queue: Queue): Promise<boolean>;
  close(): Promise<void>;
}

export class Unroutable extends Error {
  override readonly name = "Unroutable";
}

/** There was no connection in time: it was never sent. */
export class Unsent extends Error {
  override readonly name = "Unsent";
}

export class Unconfirmed extends Error {
  override readonly name = "Unconfirmed";
}

/** The broker does not do it, and will not when asked again. */
export class BrokerRejectedError extends Error {
  override readonly name = "RefusedByBroker";
  /** AMQP's: `ACCESS_REFUSED`, `RESOURCE_LOCKED`, `PRECONDITION_FAILED`, `NOT_ALLOWED`. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
