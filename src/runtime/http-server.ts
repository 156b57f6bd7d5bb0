import type { Bytes, HttpMethod } from "./http.js";
import type { Socket } from "./sockets.js";

/** A request as an embedded service sees it. No sockets: the same handler serves HTTP, in-process clusters and tests. */
export interface ServiceRequest {
  readonly method: HttpMethod | (string & {});
  /** Path below the service's mount point, still percent-encoded, without the query: `/resource_providers/…`; `""` and `/` differ. */
  readonly path: string;
  /** The query string without `?`, still percent-encoded; empty when absent. */
  readonly query: string;
  /** Names in lower case; several values joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** The raw body; empty when there is none. */
  readonly body: string;
  /**
   * The body of a request whose content type is {@link BYTES}, which is not read before it is asked for; what is left unread is
   * dropped. Throws when the client breaks off.
   */
  readonly bytes?: Bytes;
  /** The caller is in this process, and takes records in place of their JSON where the service has them. */
  readonly takesRecords?: boolean;
  /** `http://host:port` plus the service's mount point, as the client addressed it; for absolute links and `location`. */
  readonly baseUrl: string;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Sent instead of the body, one after the other: what is long need not be joined, and is held for no longer than the client takes. */
  readonly pieces?: readonly string[];
  /** What the body would say, for who takes records: the body is empty then. */
  readonly records?: unknown;
  /** Sent instead of the body; an error breaks the answer off. */
  readonly bytes?: Bytes;
}

export type ServiceHandler = (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>;

/** Content type of bodies that are taken as they come. */
export const BYTES = "application/octet-stream";

/** Why a listener answers a request itself. */
export interface Rejection {
  /** 400, 404, 408, 413, 431 or 500. */
  readonly status: number;
  readonly reason: string;
  /** `req-<uuid>`; a failure is logged with it. */
  readonly requestId: string;
  /** As the client wrote them; absent: what came is no request. */
  readonly method?: string;
  readonly target?: string;
}

/** The answer to a request that no service takes, or whose service fails, in the shape of the listener's owner. */
export type RejectRequest = (rejection: Rejection) => ServiceResponse;

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

/** The reason as a line of text, where the owner has no shape of its own. */
export function toPlainTextResponse({ status, reason }: Rejection): ServiceResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${reason}\n` };
}

/** A request target, matched to the service that serves it. */
export interface Route {
  readonly handler: ServiceHandler;
  /** The mount point: `""`, `/api` … */
  readonly mount: string;
  /** The path below the mount point. */
  readonly path: string;
  readonly query: string;
}

/** Finds services by path prefix, the longest first. A prefix matches whole path segments only. */
export class Mounts {
  readonly #services: readonly { readonly mount: string; readonly below: string; readonly handler: ServiceHandler }[];

  constructor(services: Readonly<Record<string, ServiceHandler>>) {
    this.#services = Object.entries(services)
      .map(([mount, handler]) => ({ mount, below: `${mount}/`, handler }))
      .sort((left, right) => right.mount.length - left.mount.length);
  }

  /** @param target the request target as the client sent it, origin form or absolute form. */
  match(target: string): Route | undefined {
    const { path, query } = splitTarget(target);
    for (const { mount, below, handler } of this.#services) {
      if (path.startsWith(below) || path === mount || mount === "") {
        return { handler, mount, path: path.slice(mount.length), query };
      }
    }
    return undefined;
  }
}

/** `/a/b?c=d` or `http://host/a/b?c=d` as path and query. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const relative = target.startsWith("/") ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  const mark = relative.indexOf("?");
  const path = mark < 0 ? relative : relative.slice(0, mark);
  return { path, query: mark < 0 ? "" : relative.slice(mark + 1) };
}

/** The limits of {@link ListenLimits} that hold when the caller names none. */
export const DEFAULT_LISTEN_LIMITS: ListenLimits = Object.freeze({
  bodyBytes: 16 * 1024 * 1024,
  frameBytes: 4 * 1024 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connections: 20_000,
});

/** Largest frame in bytes that a socket opened by `Sockets.connect` takes. */
export const CLIENT_FRAME_BYTES = 64 * 1024 * 1024;

/** Milliseconds until {@link HttpTimeout} when a request names none. */
export const DEFAULT_HTTP_TIMEOUT = 60_000;

/** Milliseconds that `Listener.close` waits for running requests when the caller names none. */
export const DEFAULT_CLOSE_GRACE = 5_000;

/** For those who want the body as one text. */
export function joined({ pieces, ...response }: ServiceResponse): ServiceResponse {
  return pieces === undefined ? response : { ...response, body: pieces.join("") };
}
