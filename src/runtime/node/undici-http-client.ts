import type { IncomingHttpHeaders } from "node:http";
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

/**
 * Buffers one complete response. undici's own `request` creates a stream, a signal and a resource per request: with it,
 * the start of a host takes 0.9 ms more of 9 ms of processor time.
 */
class BufferedResponseHandler implements Dispatcher.DispatchHandler {
  /** Rejects with undici's error or with the reason passed to {@link stop}. */
  readonly response: Promise<HttpResponse>;
  #resolve: (response: HttpResponse) => void = () => {};
  #reject: (reason: unknown) => void = () => {};
  /** Undefined while the request waits for a connection. */
  #controller: Dispatcher.DispatchController | undefined;
  /** The reason passed to {@link stop}. */
  #stopped: Error | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #parts: Buffer[] = [];

  constructor() {
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  stop(reason: Error): void {
    this.#stopped ??= reason;
    this.#reject(reason);
    this.#controller?.abort(reason);
  }

  /** Called again when undici resends the request. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#parts = [];
    if (this.#stopped !== undefined) {
      controller.abort(this.#stopped);
    }
  }

  /** Also called for interim responses, such as a 103. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    this.#parts.push(part);
  }

  onResponseEnd(): void {
    this.#resolve({ status: this.#status, headers: flattenHeaders(this.#headers), body: textOf(this.#parts) });
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
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
    const { url, timeout = DEFAULT_HTTP_TIMEOUT, signal, tlsSection } = request;
    signal?.throwIfAborted();
    const handler = new BufferedResponseHandler();
    const timer = setTimeout(() => handler.stop(new HttpTimeout(url, timeout)), timeout);
    const abort = () => handler.stop(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const { origin, pathname, search } = new URL(url);
      const { method, headers = {}, body = null } = request;
      const dispatchOptions = { origin, path: pathname + search, method, headers: { ...headers }, body };
      (this.#dispatcher ?? this.#pool(origin, tlsSection)).dispatch(dispatchOptions, handler);
      return await handler.response;
    } catch (error) {
      if (handler.stopped || error instanceof errors.InvalidArgumentError) {
        throw error;
      }
      throw new HttpConnectFailure(url, codeOf(error), { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  async send({
    method,
    url,
    headers = {},
    body,
    idle = DEFAULT_HTTP_TIMEOUT,
    signal,
    tlsSection,
  }: Transfer): Promise<TransferResponse> {
    signal?.throwIfAborted();
    const watch = new IdleWatch(idle, () => new HttpTimeout(url, idle), signal);
    const { origin, pathname, search } = new URL(url);
    const source = body && watch.sent(body);
    watch.wait();
    try {
      const response = await sendRequest.call(this.#dispatcher ?? this.#pool(origin, tlsSection), {
        origin,
        path: pathname + search,
        method,
        headers: { ...headers },
        body: source === undefined ? null : Readable.from(source, { objectMode: false }),
        signal: watch.signal,
      });
      return {
        status: response.statusCode,
        headers: flattenHeaders(response.headers),
        body: received(url, response.body, watch),
      };
    } catch (error) {
      watch.end();
      throw watch.reason ?? new HttpConnectFailure(url, codeOf(error), { cause: error });
    }
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
    throw watch.reason ?? new HttpConnectFailure(url, codeOf(error), { cause: error });
  } finally {
    watch.end();
  }
}

export function connectOptions({ verify, ...files }: HttpTls) {
  return { ...files, rejectUnauthorized: verify };
}

function codeOf(error: unknown): string {
  return error instanceof Error ? ("code" in error && error.code ? String(error.code) : error.name) : "UNKNOWN";
}

function textOf(parts: readonly Buffer[]): string {
  const [only, another] = parts;
  const bytes = only !== undefined && another === undefined ? only : Buffer.concat(parts);
  const text = bytes.toString();
  // A byte-order mark is not part of the text.
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
