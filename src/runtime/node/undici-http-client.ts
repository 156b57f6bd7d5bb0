import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import sendRequest from "undici/lib/api/api-request.js";
import errors from "undici/lib/core/errors.js";
import Pool from "undici/lib/dispatcher/pool.js";
import {
  type Bytes,
  type HttpClient,
  HttpConnectFailure,
  type HttpRequest,
  type HttpResponse,
  HttpTimeout,
  type Transfer,
  type TransferResponse,
  type Transfers,
} from "../http.js";
import { DEFAULT_HTTP_TIMEOUT } from "../http-server.js";
import { flattenHeaders } from "./http-messages.js";

/**
 * Aborts a transfer when the peer neither accepts nor sends data for too long. Time spent by this side does not count.
 */
class IdleWatch {
  /** Why this side ended the transfer: the timeout, the caller's signal, or an error thrown by the body. */
  reason: unknown;
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #tooLong: () => Error;
  readonly #caller: AbortSignal | undefined;
  readonly #stop = () => this.#abort(this.#caller?.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number, tooLong: () => Error, caller: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#tooLong = tooLong;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#stop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the peer's timeout. */
  wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#abort(this.#tooLong()), this.#milliseconds);
  }

  /** Stops the peer's timeout while this side works. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.rest();
    this.#caller?.removeEventListener("abort", this.#stop);
  }

  /** Wraps the request body. An error that it throws becomes {@link reason}. */
  async *sent(body: Bytes): AsyncGenerator<Uint8Array> {
    try {
      this.rest();
      for await (const part of body) {
        this.wait();
        yield part;
        this.rest();
      }
    } catch (error) {
      this.reason ??= error;
      throw error;
    }
    this.wait();
  }

  /** Wraps the response body. If the reader stops early, the connection is closed. */
  async *received(body: Bytes): AsyncGenerator<Uint8Array> {
    this.rest();
    const parts = body[Symbol.asyncIterator]();
    let left = false;
    try {
      for (;;) {
        this.wait();
        const next = await parts.next();
        this.rest();
        if (next.done) {
          return;
        }
        left = true;
        yield next.value;
        left = false;
      }
    } finally {
      if (left) {
        this.#abort(new Error("the response was not read to its end"));
        await parts.return?.();
      }
    }
  }

  #abort(reason: unknown): void {
    this.reason ??= reason;
    this.end();
    this.#controller.abort(reason);
  }
}

/** PEM strings. Absent: the system's CAs, and no client certificate. */
export interface HttpTls {
  /** Replaces the system's CAs. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** Whether the certificate is verified; otherwise any one is accepted. */
  readonly verify: boolean;
}

/** TLS options of servers with a CA of their own, by origin: `https://host:port`. */
export type TrustedServers = ReadonlyMap<string, HttpTls>;

export interface HttpClientOptions {
  /** Default: certificates are verified against the system's CAs. */
  readonly tls?: HttpTls;
  /** Servers with TLS options of their own, by origin: `https://host:port`. */
  readonly trusted?: TrustedServers;
  /** TLS options by section of the configuration, for requests that name a section. */
  readonly tlsSections?: ReadonlyMap<string, HttpTls>;
  /** Open connections per origin; further requests wait for one. Default 32. */
  readonly connections?: number;
  /**
   * Handles all requests instead of the client's own pools. Used for undici's global dispatcher, which nock intercepts.
   */
  readonly dispatcher?: Dispatcher;
}

/** An HTTP client with a keep-alive pool for each combination of origin and TLS options. */
export class UndiciHttpClient implements HttpClient, Transfers {
  readonly #pools = new Map<string, Pool>();
  readonly #connections: number;
  readonly #dispatcher: Dispatcher | undefined;
  readonly #tls: HttpTls | undefined;
  readonly #trusted: TrustedServers;
  readonly #tlsSections: ReadonlyMap<string, HttpTls>;

  constructor(options: HttpClientOptions = {}) {
    this.#connections = options.connections ?? 32;
    this.#dispatcher = options.dispatcher;
    this.#tls = options.tls;
    this.#trusted = options.trusted ?? new Map();
    this.#tlsSections = options.tlsSections ?? new Map();
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const { url, timeout = DEFAULT_HTTP_TIMEOUT, signal } = request;
    signal?.throwIfAborted();
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      const stop = (reason: unknown) => {
        controller.abort(reason);
        // undici ignores its signal while the request waits for a connection.
        reject(reason);
      };
      const timer = setTimeout(() => stop(new HttpTimeout(url, timeout)), timeout);
      const abort = () => stop(signal?.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
      };
      this.#buffered(request, controller.signal).then(resolve, reject).finally(end);
    });
  }

  async #buffered(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    try {
      const { statusCode, headers, body } = await this.#send(request, request.body ?? null, signal);
      return { status: statusCode, headers: flattenHeaders(headers), body: await body.text() };
    } catch (error) {
      throw error instanceof errors.InvalidArgumentError ? error : failureOf(request.url, error);
    }
  }

  async send(transfer: Transfer): Promise<TransferResponse> {
    const { url, body, idle = DEFAULT_HTTP_TIMEOUT, signal } = transfer;
    signal?.throwIfAborted();
    const watch = new IdleWatch(idle, () => new HttpTimeout(url, idle), signal);
    const source = body && Readable.from(watch.sent(body), { objectMode: false });
    watch.wait();
    try {
      const response = await this.#send(transfer, source ?? null, watch.signal);
      return {
        status: response.statusCode,
        headers: flattenHeaders(response.headers),
        body: received(url, response.body, watch),
      };
    } catch (error) {
      watch.end();
      throw watch.reason ?? failureOf(url, error);
    }
  }

  #send(
    { method, url, headers = {}, tlsSection }: HttpRequest | Transfer,
    body: string | Readable | null,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = new URL(url);
    const options = { origin, path: pathname + search, method, headers: { ...headers }, body, signal };
    return sendRequest.call(this.#dispatcher ?? this.#pool(origin, tlsSection), options);
  }

  /** Aborts running requests. */
  async close(): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #pool(origin: string, section: string | undefined): Pool {
    const ofSection = section === undefined ? undefined : this.#tlsSections.get(section);
    const key = ofSection === undefined ? origin : `${section} ${origin}`;
    let pool = this.#pools.get(key);
    if (!pool) {
      // undici's per-phase timeouts are off: one deadline covers waiting for a connection, the response and its body.
      const tls = this.#trusted.get(origin) ?? ofSection ?? this.#tls;
      const limits = { connections: this.#connections, headersTimeout: 0, bodyTimeout: 0 };
      pool = new Pool(origin, {
        ...limits,
        ...(tls === undefined ? {} : { connect: connectOptions(tls) }),
      });
      this.#pools.set(key, pool);
    }
    return pool;
  }
}

async function* received(url: string, body: Bytes, watch: IdleWatch): AsyncGenerator<Uint8Array> {
  try {
    yield* watch.received(body);
  } catch (error) {
    throw watch.reason ?? failureOf(url, error);
  } finally {
    watch.end();
  }
}

export function connectOptions({ verify, ...files }: HttpTls) {
  return { ...files, rejectUnauthorized: verify };
}

function failureOf(url: string, error: unknown): HttpConnectFailure {
  const code = error instanceof Error ? ("code" in error && error.code ? String(error.code) : error.name) : "UNKNOWN";
  return new HttpConnectFailure(url, code, { cause: error });
}
