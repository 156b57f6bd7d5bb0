import type { RejectRequest } from "./rejection.js";
import type { ServiceHandler, ServiceRequest } from "./service.js";
import type { Socket } from "./socket.js";

/** What listens: one TCP port that serves HTTP handlers by path prefix and accepts WebSockets. */
export interface Servers {
  /** @throws {AddressInUse} the port is taken. @throws {AddressUnusable} */
  listen(options: ListenOptions): Promise<Listener>;
  /** Calls `action` once, when every request that has arrived by now and changes something is with its service, unless that is patient. */
  afterArrivals(action: () => void): void;
}

export interface ListenOptions {
  /** Default `127.0.0.1`. */
  readonly address?: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Mount points (`""`, `/api`, `/api/old` …), longest match first; the rest of the path goes to the handler. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** Whether a request begins behind what WebSockets bring. Default: GETs do. */
  readonly isLowPriority?: (request: Pick<ServiceRequest, "method" | "path">, mount: string) => boolean;
  /** Paths that take WebSockets. Any other path is answered with 404. */
  readonly sockets?: Readonly<Record<string, SocketAcceptor>>;
  /** Speaks TLS, and refuses what does not. Absent: plain HTTP. */
  readonly tls?: ServerTls;
  readonly limits?: Partial<ListenLimits>;
  /** Default: {@link plainRefusal}. */
  readonly reject?: RejectRequest;
}

/** PEM texts. */
export interface ServerTls {
  /** The server's certificate, and those between it and its authority. */
  readonly cert: string;
  readonly key: string;
}

export interface ListenLimits {
  /** Largest HTTP body in bytes; more is answered with 413. Default 16 MiB. */
  readonly bodyBytes: number;
  /** Largest WebSocket frame in bytes; more closes the socket with 1009. Default 4 MiB. */
  readonly frameBytes: number;
  /** Milliseconds a client may take for headers and for the whole request. Default 10,000 / 60,000. */
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** Sockets open at a time. Default 20,000. */
  readonly connections: number;
}

/**
 * Decides on an upgrade before it is answered. Returning a string refuses it with 401 and that reason; the socket is dead
 * then. Otherwise the socket opens as soon as the acceptor returned; what it sent before is delivered after the upgrade.
 */
export type SocketAcceptor = (
  socket: Socket,
  upgrade: {
    readonly headers: Readonly<Record<string, string>>;
    readonly query: string;
    /** `http://host:port`, or `https://…`, as the client addressed it. */
    readonly origin: string;
  },
) => string | undefined;

export interface Listener {
  readonly address: string;
  readonly port: number;
  /** `http://address:port`, or `https://…` */
  readonly url: string;
  /** Stops accepting, lets running requests end for at most `grace` ms (default 5,000), then cuts what is left. */
  close(grace?: number): Promise<void>;
}

export class AddressInUse extends Error {
  override readonly name = "AddressInUse";
  readonly address: string;
  readonly port: number;

  constructor(address: string, port: number) {
    super(`port ${port} on ${address} is taken by another process; name another port, or stop that one`);
    this.address = address;
    this.port = port;
  }
}

/** Nothing can listen at this address, whatever else runs. */
export class AddressUnusable extends Error {
  override readonly name = "AddressUnusable";
  readonly address: string;
  readonly port: number;

  /** @param code of the system: `EACCES`, `EADDRNOTAVAIL`, `ENOTFOUND` … */
  constructor(address: string, port: number, code: string, options?: ErrorOptions) {
    super(`cannot listen on port ${port} of ${address}: ${CODES[code] ?? code} (${code}); name another one`, options);
    this.address = address;
    this.port = port;
  }
}

const CODES: Readonly<Record<string, string>> = {
  EACCES: "this user may not take a port this low",
  EADDRNOTAVAIL: "it is no address of this machine",
  EAFNOSUPPORT: "this machine has no addresses of that kind",
  EAI_AGAIN: "the name cannot be looked up",
  ENOTFOUND: "there is no such name",
};
