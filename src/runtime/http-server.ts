import type { Bytes, HttpMethod } from "./http.js";
import type { Socket } from "./sockets.js";

/**
 * A request as an embedded service receives it. Independent of sockets: the same handler serves HTTP, in-process
 * clusters and tests.
 */
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
   * The body of a request whose content type is {@link BYTES}, read lazily; an unread rest is discarded. Throws when
   * the client disconnects.
   */
  readonly bytes?: Bytes;
  /** The caller is in this process and accepts objects instead of their JSON where the service supports it. */
  readonly takesRecords?: boolean;
  /** `http://host:port` plus the service's mount point, as the client addressed it; for absolute links and `location`. */
  readonly baseUrl: string;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * Sent one after the other instead of `body`: a long response need not be joined, and is in memory only until the
   * client has read it.
   */
  readonly pieces?: readonly string[];
  /** The contents of the body as objects, for callers with `takesRecords`. `body` is empty then. */
  readonly records?: unknown;
  /** Sent instead of `body`; an error breaks off the response. */
  readonly bytes?: Bytes;
}

export type ServiceHandler = (request: ServiceRequest) => ServiceResponse | Promise<ServiceResponse>;

/** The content type of streamed bodies. */
export const BYTES = "application/octet-stream";

/** Why the listener itself responds to a request. */
export interface Rejection {
  /** 400, 404, 408, 413, 431 or 500. */
  readonly status: number;
  readonly reason: string;
  /** `req-<uuid>`; failures are logged with it. */
  readonly requestId: string;
  /** As sent by the client; absent if the request could not be parsed. */
  readonly method?: string;
  readonly target?: string;
}

/** Creates the response to a request that no service handles or whose service fails, in the API's error format. */
export type RejectRequest = (rejection: Rejection) => ServiceResponse;

/** Listens on TCP ports. Each port serves HTTP handlers by path prefix and accepts WebSockets. */
export interface Servers {
  /**
   * @throws {AddressUnusable}
   */
  listen(options: ListenOptions): Promise<Listener>;
  /**
   * Calls `action` once, after all requests that have arrived by now were passed to their services, except low-priority
   * ones.
   */
  afterArrivals(action: () => void): void;
}

export interface ListenOptions {
  /** Default `127.0.0.1`. */
  readonly address?: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** Mount points (`""`, `/api`, `/api/old` …), longest match first; the handler receives the rest of the path. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** Returns whether a request is processed after WebSocket messages. Default: GET requests are. */
  readonly isLowPriority?: (request: Pick<ServiceRequest, "method" | "path">, mount: string) => boolean;
  /** Paths that accept WebSockets. Any other path gets a 404. */
  readonly sockets?: Readonly<Record<string, SocketAcceptor>>;
  /** Uses TLS and rejects plain HTTP. Absent: plain HTTP. */
  readonly tls?: ServerTls;
  readonly limits?: Partial<ListenLimits>;
  /** Default: {@link toPlainTextResponse}. */
  readonly reject?: RejectRequest;
}

/** PEM strings. */
export interface ServerTls {
  /** The server's certificate, followed by the intermediate certificates. */
  readonly cert: string;
  readonly key: string;
}

export interface ListenLimits {
  /** Max bytes of an HTTP body; a larger one gets a 413. Default 16 MiB. */
  readonly bodyBytes: number;
  /** Max bytes of a WebSocket frame; a larger one closes the socket with 1009. Default 4 MiB. */
  readonly frameBytes: number;
  /** Max milliseconds for receiving the headers and the complete request. Default 10,000 / 60,000. */
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** Max number of open sockets. Default 20,000. */
  readonly connections: number;
}

/**
 * Decides on an upgrade before the response is sent. If it returns a string, the upgrade is rejected with 401 and that
 * reason, and the socket is closed. Otherwise the socket opens when the acceptor has returned; frames sent before are
 * delivered then.
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
  /**
   * Stops accepting connections, waits at most `grace` ms (default 5,000) for running requests, then closes all
   * connections.
   */
  close(grace?: number): Promise<void>;
}

export class AddressUnusable extends Error {
  override readonly name = "AddressUnusable";
  /** `EADDRINUSE`: by another process. Otherwise the address cannot be used at all: `EACCES`, `EADDRNOTAVAIL`, … */
  readonly code: string;

  constructor(address: string, port: number, code: string, options?: ErrorOptions) {
    super(
      code === "EADDRINUSE"
        ? `port ${port} on ${address} is in use by another process; choose another port, or stop that process`
        : `cannot listen on port ${port} of ${address}: ${CODES[code] ?? code} (${code}); choose another one`,
      options,
    );
    this.code = code;
  }
}

const CODES: Readonly<Record<string, string>> = {
  EACCES: "this user may not use a port this low",
  EADDRNOTAVAIL: "it is not an address of this machine",
  EAFNOSUPPORT: "this machine has no addresses of that kind",
  EAI_AGAIN: "the name cannot be resolved at the moment",
  ENOTFOUND: "the name does not exist",
};

/** Responds with the reason as a line of text. For listeners without an error format of their own. */
export function toPlainTextResponse({ status, reason }: Rejection): ServiceResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${reason}\n` };
}

/** The service that matches a request target. */
export interface Route {
  readonly handler: ServiceHandler;
  /** The mount point: `""`, `/api` … */
  readonly mount: string;
  /** The path below the mount point. */
  readonly path: string;
  readonly query: string;
}

/** Finds services by path prefix, the longest first. A prefix matches complete path segments only. */
export class Mounts {
  readonly #services: readonly { readonly mount: string; readonly below: string; readonly handler: ServiceHandler }[];

  constructor(services: Readonly<Record<string, ServiceHandler>>) {
    this.#services = Object.entries(services)
      .map(([mount, handler]) => ({ mount, below: `${mount}/`, handler }))
      .sort((left, right) => right.mount.length - left.mount.length);
  }

  /** @param target the request target as the client sent it, in origin form or absolute form. */
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

/** Splits `/a/b?c=d` or `http://host/a/b?c=d` into path and query. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const relative = target.startsWith("/") ? target : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
  const mark = relative.indexOf("?");
  const path = mark < 0 ? relative : relative.slice(0, mark);
  return { path, query: mark < 0 ? "" : relative.slice(mark + 1) };
}

/** The defaults of {@link ListenLimits}. */
export const DEFAULT_LISTEN_LIMITS: ListenLimits = Object.freeze({
  bodyBytes: 16 * 1024 * 1024,
  frameBytes: 4 * 1024 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connections: 20_000,
});

/** Max bytes of a frame received by a socket of `Sockets.connect`. */
export const CLIENT_FRAME_BYTES = 64 * 1024 * 1024;

/** The default timeout of a request in milliseconds. */
export const DEFAULT_HTTP_TIMEOUT = 60_000;

/** The default of `Listener.close`: milliseconds to wait for running requests. */
export const DEFAULT_CLOSE_GRACE = 5_000;

/** Joins the pieces of a response into its body. */
export function joined({ pieces, ...response }: ServiceResponse): ServiceResponse {
  return pieces === undefined ? response : { ...response, body: pieces.join("") };
}
