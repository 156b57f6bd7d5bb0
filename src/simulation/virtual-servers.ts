import { type Bytes, bytesOf, type HttpRequest, textIn } from "../runtime/http.js";
import {
  BYTES,
  DEFAULT_CLOSE_GRACE,
  DEFAULT_LISTEN_LIMITS,
  joined,
  type Listener,
  type ListenLimits,
  type ListenOptions,
  Mounts,
  type RejectRequest,
  type Servers,
  type ServiceResponse,
  type SocketAcceptor,
  toPlainTextResponse,
} from "../runtime/http-server.js";
import type { VirtualNetwork } from "./virtual-network.js";
import type { VirtualProcess } from "./virtual-process.js";
import type { VirtualSocket } from "./virtual-socket.js";

export type VirtualRequest = HttpRequest & { readonly bytes?: Bytes };

/** A listener at an address of the virtual network. */
export class VirtualListener implements Listener {
  readonly process: VirtualProcess;
  readonly address: string;
  readonly port: number;
  readonly limits: ListenLimits;
  readonly acceptors: Readonly<Record<string, SocketAcceptor>>;
  readonly #mounts: Mounts;
  readonly #scheme: "http" | "https";
  readonly #network: VirtualNetwork<VirtualListener>;
  readonly #requestId: () => string;
  readonly #reject: RejectRequest;
  readonly #sockets = new Set<VirtualSocket>();
  readonly #onIdle = new Set<() => void>();
  #running = 0;

  constructor(
    process: VirtualProcess,
    network: VirtualNetwork<VirtualListener>,
    options: ListenOptions,
    requestId: () => string,
  ) {
    this.process = process;
    this.address = options.address ?? "127.0.0.1";
    this.limits = { ...DEFAULT_LISTEN_LIMITS, ...options.limits };
    this.acceptors = options.sockets ?? {};
    this.#scheme = options.tls === undefined ? "http" : "https";
    this.#reject = options.reject ?? toPlainTextResponse;
    this.#mounts = new Mounts(options.services);
    this.#network = network;
    this.#requestId = requestId;
    this.port = network.bind(this.address, options.port, this);
    process.onKill(() => this.#unbind());
  }

  get url(): string {
    return `${this.#scheme}://${this.address}:${this.port}`;
  }

  /** Serves one request. Never settles if the process is killed meanwhile. */
  async serve(request: VirtualRequest): Promise<ServiceResponse> {
    this.#running += 1;
    return this.process.whileAlive(async () => {
      try {
        return await this.#handle(request);
      } finally {
        this.#running -= 1;
        if (this.#running === 0) {
          for (const idle of this.#onIdle) {
            idle();
          }
        }
      }
    });
  }

  /** Tracks a connected socket, so that {@link close} closes it. */
  track(socket: VirtualSocket): void {
    this.#sockets.add(socket);
    socket.onClose(() => this.#sockets.delete(socket));
  }

  async close(grace = DEFAULT_CLOSE_GRACE): Promise<void> {
    this.#unbind();
    for (const socket of this.#sockets) {
      socket.close(1001, "server is going away");
    }
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle.add(resolve);
        this.process.after(grace, resolve);
      });
    }
    for (const socket of this.#sockets) {
      socket.terminate();
    }
  }

  async #handle({ method, url, headers = {}, body = "", bytes }: VirtualRequest): Promise<ServiceResponse> {
    const requestId = `req-${this.#requestId()}`;
    const route = this.#mounts.match(url);
    if (!route) {
      return this.#reject({ status: 404, reason: "nothing is served at this path", requestId });
    }
    if (Buffer.byteLength(body) > this.limits.bodyBytes) {
      const reason = `the body is larger than ${this.limits.bodyBytes} bytes`;
      return this.#reject({ status: 413, reason, requestId });
    }
    const { handler, mount, path, query } = route;
    const { host } = new URL(url);
    const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
    try {
      const result = await handler({
        method,
        path,
        query,
        headers: { host, ...length, ...headers },
        ...(headers["content-type"] === BYTES
          ? { body: "", bytes: bytes ?? bytesOf(body) }
          : { body: bytes === undefined ? body : await textIn(bytes) }),
        baseUrl: `${this.#scheme}://${host}${mount}`,
      });
      const response = joined(result);
      return method === "HEAD" ? { ...response, body: "" } : response;
    } catch {
      const reason = "an unexpected error prevented the server from answering";
      return this.#reject({ status: 500, reason, requestId });
    }
  }

  #unbind(): void {
    this.#network.unbind(this.address, this.port);
  }
}

/** Creates listeners in the virtual network. */
export class VirtualServers implements Servers {
  readonly #process: VirtualProcess;
  readonly #network: VirtualNetwork<VirtualListener>;
  readonly #requestId: () => string;

  constructor(process: VirtualProcess, network: VirtualNetwork<VirtualListener>, requestId: () => string) {
    this.#process = process;
    this.#network = network;
    this.#requestId = requestId;
  }

  async listen(options: ListenOptions): Promise<Listener> {
    return this.#process.whileAlive(() => new VirtualListener(this.#process, this.#network, options, this.#requestId));
  }

  /** Runs `action` immediately, since each request arrives alone. */
  afterArrivals(action: () => void): void {
    action();
  }
}
