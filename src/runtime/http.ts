import { tlsFailure } from "./tls-failure.js";

export type HttpMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

export interface HttpRequest {
  readonly method: HttpMethod;
  /** Absolute URL. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until {@link HttpTimeout}; default 60,000. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** The section of the configuration whose TLS options secure the connection. Default: the client's own. */
  readonly tlsSection?: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What the body would say, when a service of this process answered with records; the body is empty then. */
  readonly records?: unknown;
}

/** The one way out over HTTP. Keeps connections alive and bounds them per origin. */
export interface HttpClient {
  /**
   * @throws {HttpConnectFailure} when nothing answered: refused, reset before an answer, unknown host.
   * @throws {HttpTimeout} when `timeout` passed.
   * An answer of any status is a value, never an error.
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** User and password taken out of the addresses in a text. */
export function withoutUserInfo(text: string): string {
  return text.replace(/(\w:\/\/)[^/?#\s]*@/g, "$1");
}

/** The connection could not be made, or broke before an answer came; whether the server acted is unknown. */
export class HttpConnectFailure extends Error {
  override readonly name = "HttpConnectFailure";
  readonly url: string;
  readonly code: string;
  /** What is wrong with its certificate or its TLS, and what to do; undefined: something else is. */
  readonly tls: string | undefined;

  constructor(url: string, code: string, options?: ErrorOptions) {
    const tls = tlsFailure(code, options?.cause);
    super(`no answer from ${withoutUserInfo(url)}: ${code}${tls === undefined ? "" : `: ${tls}`}`, options);
    this.tls = tls;
    this.url = withoutUserInfo(url);
    this.code = code;
  }
}

export class HttpTimeout extends Error {
  override readonly name = "HttpTimeout";
  readonly url: string;
  readonly milliseconds: number;

  constructor(url: string, milliseconds: number) {
    super(`no answer from ${withoutUserInfo(url)} within ${milliseconds} ms`);
    this.url = withoutUserInfo(url);
    this.milliseconds = milliseconds;
  }
}
