const UNKNOWN_ISSUER =
  "its certificate was not issued by a trusted CA: set the file with the certificate of its CA (cafile, cacert)";

const SELF_SIGNED =
  "its certificate is self-signed and not trusted: set the file with the certificate (cafile, cacert)";

const NO_TLS = "the server does not use TLS on this port: connect with http:// or ws://, or use its TLS port";

/** Explanations and remedies for certificate and TLS errors, by OpenSSL's and Node's codes. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNKNOWN_ISSUER],
  ["CERT_SIGNATURE_FAILURE", UNKNOWN_ISSUER],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNKNOWN_ISSUER],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", SELF_SIGNED],
  [
    "CERT_HAS_EXPIRED",
    "its certificate has expired, or this machine's clock is wrong: renew it (compute-agent tls --renew)",
  ],
  [
    "CERT_NOT_YET_VALID",
    "its certificate is not valid yet: correct this machine's clock, or that of the machine that issued it",
  ],
  ["ERR_SSL_WRONG_VERSION_NUMBER", NO_TLS],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", NO_TLS],
]);

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
  /**
   * The contents of the body as objects, when a service of this process responded with records. `body` is empty then.
   */
  readonly records?: unknown;
}

/** The only way to send HTTP requests. Uses keep-alive connections and limits them per origin. */
export interface HttpClient {
  /**
   * @throws {HttpConnectFailure} when there was no response: connection refused, reset before a response, unknown host.
   * @throws {HttpTimeout} when `timeout` passed. A response of any status is returned, never thrown.
   */
  request(request: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

/** Removes user names and passwords from the URLs in a text. */
export function withoutUserInfo(text: string): string {
  return text.replace(/(\w:\/\/)[^/?#\s]*@/g, "$1");
}

/**
 * The connection could not be established, or broke before a response arrived. It is unknown whether the server acted.
 */
export class HttpConnectFailure extends Error {
  override readonly name = "HttpConnectFailure";
  readonly url: string;
  readonly code: string;
  /** Explains a certificate or TLS error and its remedy; undefined for any other error. */
  readonly tls: string | undefined;

  constructor(url: string, code: string, options?: ErrorOptions) {
    const tls = tlsFailure(code, options?.cause);
    super(`no response from ${withoutUserInfo(url)}: ${code}${tls === undefined ? "" : `: ${tls}`}`, options);
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
    super(`no response from ${withoutUserInfo(url)} within ${milliseconds} ms`);
    this.url = withoutUserInfo(url);
    this.milliseconds = milliseconds;
  }
}

/** Returns whether a request failed before its response began. It is unknown whether the server has processed it. */
export function hasNoResponse(error: unknown): error is HttpConnectFailure | HttpTimeout {
  return error instanceof HttpConnectFailure || error instanceof HttpTimeout;
}

/** Explains why the TLS connection failed; undefined if the connection failed for another reason. */
function tlsFailure(code: string, cause: unknown): string | undefined {
  const message = cause instanceof Error ? cause.message : "";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const [, names = message] = /altnames: (.*)$/s.exec(message) ?? [];
    return `its certificate is for other names: ${names.trim().replace(/\.$/, "")}; connect by a name of the certificate, or renew the certificate with this name`;
  }
  return code === "EPROTO" && /wrong version number|packet length too long/.test(message) ? NO_TLS : REASONS.get(code);
}

/** Bytes in parts, produced lazily. */
export type Bytes = AsyncIterable<Uint8Array>;

/** A request whose body and response body are streamed. */
export interface Transfer {
  readonly method: HttpMethod;
  /** Absolute URL. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Each part is requested when the one before has been sent. An error that it throws aborts the request, so that no
   * server takes a part for the complete body.
   */
  readonly body?: Bytes;
  /** Milliseconds without data in either direction until {@link HttpTimeout}; default 60,000. */
  readonly idle?: number;
  readonly signal?: AbortSignal;
  /** The section of the configuration whose TLS options secure the connection. Default: the client's own. */
  readonly tlsSection?: string;
}

export interface TransferResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * May be read once, to its end or partly.
   * @throws {HttpConnectFailure} when it broke off, {@link HttpTimeout}, or the signal's reason.
   */
  readonly body: Bytes;
}

/** HTTP for bodies that are too large for memory. */
export interface Transfers {
  /**
   * Resolves when the response begins.
   * @throws {HttpConnectFailure} when there was no response, {@link HttpTimeout}, errors of the body, or the signal's
   * reason.
   */
  send(transfer: Transfer): Promise<TransferResponse>;
}

/**
 * Reads all bytes as text.
 * @param most max bytes; further ones are dropped
 */
export async function textIn(bytes: Bytes, most = Number.POSITIVE_INFINITY): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = most;
  for await (const part of bytes) {
    text += decoder.decode(part.subarray(0, left), { stream: true });
    left -= part.length;
    if (left <= 0) {
      break;
    }
  }
  return text + decoder.decode();
}

/** Yields the text as one part, or nothing if it is empty. */
export async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") {
    yield new TextEncoder().encode(text);
  }
}

/** Reads all bytes into memory. */
export async function bytesIn(bytes: Bytes): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) {
    parts.push(part);
  }
  return Buffer.concat(parts);
}
