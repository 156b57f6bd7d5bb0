import type { HttpResponse } from "../runtime/http.js";
import { AddressInUse } from "../runtime/http-server.js";
import type { CancelTimer } from "../runtime/time.js";
import type { VirtualProcess } from "./virtual-process.js";

/** What a fault does to the HTTP requests and WebSocket openings it matches. */
export type NetworkFault =
  /** Milliseconds more for the answer. */
  | { readonly kind: "latency"; readonly milliseconds: number }
  /** Milliseconds more until the server sees it. */
  | { readonly kind: "late-request"; readonly milliseconds: number }
  /** No connection; `code` defaults to `ECONNREFUSED`. */
  | { readonly kind: "refuse"; readonly code?: string }
  /** The server does all of it; the client sees the connection break with `ECONNRESET`. */
  | { readonly kind: "lose-answer" }
  /** The server never sees it; the client waits as long as it waits. */
  | { readonly kind: "lose-request" }
  /** The server does it twice, one after the other; the client gets the second answer. */
  | { readonly kind: "double" }
  /** The server never sees it; the client gets this answer. */
  | { readonly kind: "answer"; readonly response: HttpResponse };

export interface FaultRule {
  readonly fault: NetworkFault;
  /** Default: every request. */
  readonly match?: (request: { readonly from: string; readonly method: string; readonly url: string }) => boolean;
  /** How many requests it strikes; default: all until it is removed. */
  readonly times?: number;
}

/** Something that listens in the virtual network. */
export interface Endpoint {
  readonly process: VirtualProcess;
}

/** Addresses, faults and partitions of one virtual world. */
export class VirtualNetwork<E extends Endpoint> {
  /** Milliseconds that everything takes from one process to another. */
  latency = 0;
  readonly #plan: (milliseconds: number, action: () => void) => CancelTimer;
  readonly #now: () => number;
  readonly #delay: () => number;
  readonly #endpoints = new Map<string, E>();
  readonly #faults: { readonly rule: FaultRule; left: number }[] = [];
  readonly #cuts = new Set<string>();
  readonly #blocked = new Set<Wire>();
  readonly #connections = new Set<Connection>();
  /** Milliseconds that everything takes besides, by way. */
  readonly #late = new Map<string, { readonly milliseconds: number }>();
  #lastPort = 20_000;

  /** @param delay milliseconds that a message takes besides the latency */
  constructor(
    plan: (milliseconds: number, action: () => void) => CancelTimer,
    now: () => number,
    delay: () => number = () => 0,
  ) {
    this.#plan = plan;
    this.#now = now;
    this.#delay = delay;
  }

  /** Takes an address for an endpoint; port 0 takes a free one. Returns the port. @throws {AddressInUse} */
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
      throw new AddressInUse(address, port);
    }
    this.#endpoints.set(key, endpoint);
    return taken;
  }

  unbind(address: string, port: number): void {
    this.#endpoints.delete(`${address}:${port}`);
  }

  /** The listener at the host and port of an absolute URL. */
  find(url: URL): E | undefined {
    const port = url.port || (url.protocol === "https:" || url.protocol === "wss:" ? "443" : "80");
    const host = url.hostname === "localhost" ? "127.0.0.1" : url.hostname;
    return this.#endpoints.get(`${host}:${port}`) ?? this.#endpoints.get(`0.0.0.0:${port}`);
  }

  /** Adds a fault; the first rule that matches strikes. Returns what removes it. */
  inject(rule: FaultRule): () => void {
    const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
    this.#faults.push(entry);
    return () => {
      entry.left = 0;
    };
  }

  /** The fault that strikes this request, counted. */
  strike(request: { readonly from: string; readonly method: string; readonly url: string }): NetworkFault | undefined {
    const entry = this.#faults.find(({ rule, left }) => left > 0 && (rule.match?.(request) ?? true));
    if (entry) {
      entry.left -= 1;
    }
    return entry?.rule.fault;
  }

  /**
   * Nothing passes between two processes, named, until {@link heal}; then what was sent arrives, as with TCP. `oneWay`: only what
   * the first one sends is held back.
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
   * All that passes between two processes, named, takes so many milliseconds more, either way, until what is returned is
   * called, or another one for the two takes its place.
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

  /** Breaks the WebSockets between two processes, named: both ends see it, and what was under way is lost. */
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

  /** An open WebSocket; returns what forgets it. */
  connected(connection: Connection): () => void {
    this.#connections.add(connection);
    return () => this.#connections.delete(connection);
  }

  /** One direction of a connection. */
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

/** A WebSocket between two processes, named. */
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

/** Delivers in the order of sending; holds everything back while the two ends are partitioned. */
export class Wire {
  readonly from: string;
  readonly to: string;
  readonly #context: WireContext;
  readonly #queue: (() => void)[] = [];
  /** Deliveries that were due while the ends were partitioned. */
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

  /** The partition healed: what was held arrives now. */
  flush(): void {
    const overdue = this.#overdue;
    this.#overdue = 0;
    for (let index = 0; index < overdue; index += 1) {
      this.#context.plan(0, () => this.#deliverNext());
    }
  }

  /** What is under way never arrives. */
  lose(): void {
    this.#queue.fill(() => undefined);
  }

  // Each planned delivery takes the oldest thing on the wire, so that nothing overtakes what a partition held back.
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
