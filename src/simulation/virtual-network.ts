import type { HttpResponse } from "../runtime/http.js";
import { AddressUnusable } from "../runtime/http-server.js";
import type { CancelTimer } from "../runtime/time.js";
import type { VirtualProcess } from "./virtual-process.js";

/** The effect of a fault on matching HTTP requests and WebSocket upgrades. */
export type NetworkFault =
  /** Delays the response by this many milliseconds. */
  | { readonly kind: "latency"; readonly milliseconds: number }
  /** Delays the request by this many milliseconds. */
  | { readonly kind: "late-request"; readonly milliseconds: number }
  /** Refuses the connection; `code` defaults to `ECONNREFUSED`. */
  | { readonly kind: "refuse"; readonly code?: string }
  /** The server processes the request; the client gets `ECONNRESET`. */
  | { readonly kind: "lose-answer" }
  /** The server never receives the request; the client waits until its timeout. */
  | { readonly kind: "lose-request" }
  /** The server processes the request twice; the client gets the second response. */
  | { readonly kind: "double" }
  /** The server never receives the request; the client gets this response. */
  | { readonly kind: "answer"; readonly response: HttpResponse };

export interface FaultRule {
  readonly fault: NetworkFault;
  /** Default: every request. */
  readonly match?: (request: { readonly from: string; readonly method: string; readonly url: string }) => boolean;
  /** Max number of affected requests. Default: no limit until the fault is removed. */
  readonly times?: number;
}

/** A listener in the virtual network. */
export interface Endpoint {
  readonly process: VirtualProcess;
}

/** The addresses, faults and partitions of one virtual world. */
export class VirtualNetwork<E extends Endpoint> {
  /** Milliseconds that each message between two processes takes. */
  latency = 0;
  readonly #plan: (milliseconds: number, action: () => void) => CancelTimer;
  readonly #now: () => number;
  readonly #delay: () => number;
  readonly #endpoints = new Map<string, E>();
  readonly #faults: { readonly rule: FaultRule; left: number }[] = [];
  readonly #cuts = new Set<string>();
  readonly #blocked = new Set<Wire>();
  readonly #connections = new Set<Connection>();
  /** Additional latency in milliseconds, by direction. */
  readonly #late = new Map<string, { readonly milliseconds: number }>();
  #lastPort = 20_000;

  /** @param delay returns a message's latency in milliseconds in addition to {@link latency} */
  constructor(
    plan: (milliseconds: number, action: () => void) => CancelTimer,
    now: () => number,
    delay: () => number = () => 0,
  ) {
    this.#plan = plan;
    this.#now = now;
    this.#delay = delay;
  }

  /**
   * Binds an address to an endpoint; port 0 selects a free one. Returns the port.
   * @throws {AddressUnusable}
   */
  bind(address: string, port: number, endpoint: E): number {
    let taken = port;
    if (port === 0) {
      do {
        this.#lastPort += 1;
      } while (this.#endpoints.has(`${address}:${this.#lastPort}`));
      taken = this.#lastPort;
    }
    const key = `${address}:${taken}`;
    if (this.#endpoints.has(key)) {
      throw new AddressUnusable(address, port, "EADDRINUSE");
    }
    this.#endpoints.set(key, endpoint);
    return taken;
  }

  unbind(address: string, port: number): void {
    this.#endpoints.delete(`${address}:${port}`);
  }

  /** Returns the listener at the host and port of an absolute URL. */
  find(url: URL): E | undefined {
    const port = url.port || (url.protocol === "https:" || url.protocol === "wss:" ? "443" : "80");
    const host = url.hostname === "localhost" ? "127.0.0.1" : url.hostname;
    return this.#endpoints.get(`${host}:${port}`) ?? this.#endpoints.get(`0.0.0.0:${port}`);
  }

  /** Adds a fault; the first matching rule applies. Returns a function that removes it. */
  inject(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#faults.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  /** Returns the fault for this request and counts it. */
  strike(request: { readonly from: string; readonly method: string; readonly url: string }): NetworkFault | undefined {
    const entry = this.#faults.find(({ rule, left }) => left > 0 && (rule.match?.(request) ?? true));
    if (entry) {
      entry.left -= 1;
    }
    return entry?.rule.fault;
  }

  /**
   * Blocks messages between two named processes until {@link heal}; then they arrive, as with TCP. `oneWay`: only
   * messages from the first one are blocked.
   */
  partition(one: string, other: string, { oneWay = false }: { readonly oneWay?: boolean } = {}): void {
    this.#cuts.add(wayOf(one, other));
    if (!oneWay) {
      this.#cuts.add(wayOf(other, one));
    }
  }

  heal(one: string, other: string): void {
    this.#cuts.delete(wayOf(one, other));
    this.#cuts.delete(wayOf(other, one));
    for (const wire of [...this.#blocked]) {
      if (!this.isCut(wire)) {
        this.#blocked.delete(wire);
        wire.flush();
      }
    }
  }

  /**
   * Delays messages between two named processes in both directions. The delay lasts until the returned function is
   * called or another delay for the two replaces it.
   */
  delay(one: string, other: string, milliseconds: number): () => void {
    const ways = [wayOf(one, other), wayOf(other, one)];
    const late = { milliseconds };
    for (const way of ways) {
      this.#late.set(way, late);
    }
    return () => {
      for (const way of ways) {
        if (this.#late.get(way) === late) {
          this.#late.delete(way);
        }
      }
    };
  }

  isCut(wire: { readonly from: string; readonly to: string }): boolean {
    return this.#cuts.has(wayOf(wire.from, wire.to));
  }

  /** Breaks the WebSockets between two named processes: both ends are notified, and messages in transit are lost. */
  sever(one: string, other: string): void {
    for (const connection of [...this.#connections]) {
      const { from, to } = connection;
      if ((from === one && to === other) || (from === other && to === one)) {
        connection.sever();
      }
    }
  }

  #lateness(from: string, to: string): number {
    return this.#late.size === 0 ? 0 : (this.#late.get(wayOf(from, to))?.milliseconds ?? 0);
  }

  /** Registers an open WebSocket. Returns a function that removes it. */
  connected(connection: Connection): () => void {
    this.#connections.add(connection);
    return () => this.#connections.delete(connection);
  }

  /** Creates one direction of a connection. */
  wire(from: VirtualProcess, to: VirtualProcess): Wire {
    return new Wire(from.name, to.name, {
      plan: this.#plan,
      now: this.#now,
      latency: () => this.latency + this.#delay() + this.#lateness(from.name, to.name),
      isCut: (wire) => this.isCut(wire),
      block: (wire) => this.#blocked.add(wire),
    });
  }
}

/** A WebSocket between two named processes. */
interface Connection {
  readonly from: string;
  readonly to: string;
  readonly sever: () => void;
}

interface WireContext {
  readonly plan: (milliseconds: number, action: () => void) => CancelTimer;
  readonly now: () => number;
  readonly latency: () => number;
  readonly isCut: (wire: Wire) => boolean;
  readonly block: (wire: Wire) => void;
}

/** Delivers messages in order; holds all of them back while the two ends are partitioned. */
export class Wire {
  readonly from: string;
  readonly to: string;
  readonly #context: WireContext;
  readonly #queue: (() => void)[] = [];
  /** The number of deliveries that were due during a partition. */
  #overdue = 0;
  #lastArrival = 0;

  constructor(from: string, to: string, context: WireContext) {
    this.from = from;
    this.to = to;
    this.#context = context;
  }

  /** Calls `arrive` at the other end. */
  send(arrive: () => void, extraLatency = 0): void {
    this.#queue.push(arrive);
    const now = this.#context.now();
    this.#lastArrival = Math.max(this.#lastArrival, now + this.#context.latency() + extraLatency);
    this.#context.plan(this.#lastArrival - now, () => this.#deliverNext());
  }

  /** Delivers the messages that were held back by a partition. */
  flush(): void {
    const overdue = this.#overdue;
    this.#overdue = 0;
    for (let index = 0; index < overdue; index += 1) {
      this.#context.plan(0, () => this.#deliverNext());
    }
  }

  /** Drops all messages in transit. */
  lose(): void {
    this.#queue.fill(() => undefined);
  }

  // Each planned delivery takes the oldest message, so that messages held back by a partition arrive first.
  #deliverNext(): void {
    if (this.#context.isCut(this)) {
      this.#overdue += 1;
      this.#context.block(this);
    } else {
      this.#queue.shift()?.();
    }
  }
}

function wayOf(from: string, to: string): string {
  return JSON.stringify([from, to]);
}
