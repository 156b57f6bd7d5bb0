import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import ask from "undici/lib/api/api-request.js";
import errors from "undici/lib/core/errors.js";
import Pool from "undici/lib/dispatcher/pool.js";
import { type HttpClient, HttpConnectFailure, type HttpRequest, type HttpResponse, HttpTimeout } from "../http.js";
import { DEFAULT_HTTP_TIMEOUT } from "../listen-defaults.js";
import type { Bytes, Transfer, TransferResponse, Transfers } from "../transfers.js";
import { BufferedResponseHandler } from "./complete-response.js";
import { flattenHeaders } from "./flatten-headers.js";
import { IdleWatch } from "./idle-watch.js";

/** PEM texts; absent: the system's authorities, and no certificate of one's own. */
export interface HttpTls {
  /** Instead of the system's authorities. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** False: anybody's certificate will do. */
  readonly verify: boolean;
}

/** How servers are checked that have an authority of their own, by origin: `https://host:port`. */
export type TrustedServers = ReadonlyMap<string, HttpTls>;

export interface HttpClientOptions {
  /** Default: certificates are checked against the system's authorities. */
  readonly tls?: HttpTls;
  /** Servers that are checked otherwise, by origin: `https://host:port`. */
  readonly trusted?: TrustedServers;
  /** TLS of requests that name a section of the configuration, by its name. */
  readonly tlsSections?: ReadonlyMap<string, HttpTls>;
  /** Open connections per origin; further requests wait for one. Default 32. */
  readonly connections?: number;
  /** Takes all requests instead of the client's own pools: undici's global dispatcher, which nock answers for. */
  readonly dispatcher?: Dispatcher;
}

/** Keep-alive pools, one for each origin and each TLS that it is connected to with. */
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
      const response = await ask.call(this.#dispatcher ?? this.#pool(origin, tlsSection), {
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

  /** Cuts what is still running. */
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
      // The time-outs of single phases are off: one deadline covers waiting for a connection, the answer and its body.
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
