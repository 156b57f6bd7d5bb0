import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import {
  AddressUnusable,
  DEFAULT_CLOSE_GRACE,
  DEFAULT_LISTEN_LIMITS,
  type Listener,
  type ListenOptions,
  type Servers,
  type SocketAcceptor,
  splitTarget,
  toPlainTextResponse,
} from "../http-server.js";
import type { Logger } from "../runtime.js";
import { onlyTls, sendBadRequest } from "./bad-requests.js";
import { HttpExchange, originOf } from "./http-exchange.js";
import { flattenHeaders } from "./http-messages.js";
import { NodeSocket } from "./node-socket.js";
import { RequestQueue } from "./request-slots.js";

/** Idle timeout of connections in milliseconds. Longer than that of clients, so that the client closes first. */
const KEEP_ALIVE = 65_000;

export class NodeServers implements Servers {
  readonly #logger: Logger;
  readonly #queue = new RequestQueue();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  async listen(options: ListenOptions): Promise<Listener> {
    const listener = new NodeListener(options, this.#logger, this.#queue);
    await listener.open();
    return listener;
  }

  afterArrivals(action: () => void): void {
    this.#queue.goAhead(action);
  }
}

class NodeListener implements Listener {
  readonly address: string;
  readonly #requestedPort: number;
  readonly #acceptors: Readonly<Record<string, SocketAcceptor>>;
  readonly #scheme: "http" | "https";
  readonly #server: Server;
  /** Destroys connections that have not completed the TLS handshake. */
  readonly #cut: () => void;
  readonly #sockets: WebSocketServer;
  readonly #exchange: HttpExchange;
  readonly #logger: Logger;
  #port = 0;

  constructor(options: ListenOptions, logger: Logger, queue: RequestQueue) {
    const limits = { ...DEFAULT_LISTEN_LIMITS, ...options.limits };
    this.address = options.address ?? "127.0.0.1";
    this.#requestedPort = options.port;
    this.#acceptors = options.sockets ?? {};
    this.#logger = logger;
    const { reject = toPlainTextResponse } = options;
    const takesAgents = Object.keys(this.#acceptors).length > 0;
    const order = takesAgents ? { queue, isLowPriority: options.isLowPriority ?? isRead } : null;
    this.#exchange = new HttpExchange(options.services, limits, reject, logger, order);
    // Node checks for slow clients only at this interval.
    const connectionsCheckingInterval = Math.max(1, Math.min(1_000, Math.floor(limits.headersTimeout / 2)));
    const settings = {
      headersTimeout: Math.min(limits.headersTimeout, limits.requestTimeout),
      // HttpExchange times out bodies itself: an image upload may take any time while data arrives.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE,
      connectionsCheckingInterval,
    };
    const { tls } = options;
    this.#scheme = tls === undefined ? "http" : "https";
    if (tls === undefined) {
      this.#server = createServer(settings);
      this.#cut = () => undefined;
    } else {
      const server = createTlsServer({ ...settings, ...tls, handshakeTimeout: settings.headersTimeout });
      this.#server = server;
      this.#cut = onlyTls(server, reject, settings.headersTimeout);
    }
    this.#server.maxConnections = limits.connections;
    this.#sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: limits.frameBytes });
    this.#server.on("request", (request, response) => {
      this.#exchange.serve(request, response, this.url);
    });
    this.#server.on("upgrade", (request, socket, head) => {
      try {
        this.#upgrade(request, socket, head);
      } catch (error) {
        this.#logger.error("a WebSocket upgrade failed; responding with 500", { err: error });
        rejectUpgrade(socket, 500, "Internal Server Error", "an unexpected error prevented the server from answering");
      }
    });
    this.#server.on("clientError", (error, connection) => sendBadRequest(reject, error, connection));
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `${this.#scheme}://${this.address.includes(":") ? `[${this.address}]` : this.address}:${this.#port}`;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => {
        reject(new AddressUnusable(this.address, this.#requestedPort, error.code ?? error.message, { cause: error }));
      });
      this.#server.listen(this.#requestedPort, this.address, resolve);
    });
    const bound = this.#server.address();
    this.#port = typeof bound === "object" && bound ? bound.port : this.#requestedPort;
    this.#server.on("error", (error) => this.#logger.error(`listener ${this.url} failed`, { err: error }));
  }

  async close(grace = DEFAULT_CLOSE_GRACE): Promise<void> {
    this.#exchange.drain();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets.clients) {
      socket.close(1001, "server is going away");
    }
    const timer = setTimeout(() => {
      for (const socket of this.#sockets.clients) {
        socket.terminate();
      }
      this.#server.closeAllConnections();
      this.#cut();
    }, grace);
    await closed;
    clearTimeout(timer);
  }

  #upgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void {
    connection.on("error", () => connection.destroy());
    const { path, query } = splitTarget(request.url ?? "/");
    const acceptor = this.#acceptors[path];
    if (!acceptor || request.headers.upgrade?.toLowerCase() !== "websocket") {
      rejectUpgrade(connection, 404, "Not Found", "no WebSocket is served at this path");
      return;
    }
    const socket = new NodeSocket(this.#logger);
    const origin = originOf(request.headers.host, this.url);
    const rejectionReason = acceptor(socket, { headers: flattenHeaders(request.headers), query, origin });
    if (rejectionReason !== undefined) {
      socket.abandon();
      rejectUpgrade(connection, 401, "Unauthorized", rejectionReason);
      return;
    }
    let isUpgraded = false;
    this.#sockets.handleUpgrade(request, connection, head, (ws) => {
      isUpgraded = true;
      socket.attach(ws);
    });
    // ws calls back synchronously, unless it has already responded to a malformed handshake.
    if (!isUpgraded) {
      socket.abandon();
    }
  }
}

const isRead = ({ method }: { readonly method: string }): boolean => method === "GET";

function rejectUpgrade(connection: Duplex, status: number, title: string, reason: string): void {
  const body = `${reason}\n`;
  const head = [
    `HTTP/1.1 ${status} ${title}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  connection.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
