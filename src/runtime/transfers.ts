import type { HttpMethod } from "./http.js";

/** Bytes in parts: the next part is made when it is asked for. */
export type Bytes = AsyncIterable<Uint8Array>;

/** A request whose body is sent as it comes, and whose answer is read as it comes. */
export interface Transfer {
  readonly method: HttpMethod;
  /** Absolute URL. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A part is asked for when the one before has been taken. What it throws ends the request, so that no server takes a part for all. */
  readonly body?: Bytes;
  /** Milliseconds in which the other end neither takes nor gives anything until {@link HttpTimeout}; default 60,000. */
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
   * To be read to its end, or left early, once. @throws {HttpConnectFailure} it broke off. {@link HttpTimeout} The signal's reason.
   */
  readonly body: Bytes;
}

/** HTTP for what is too large to be held in memory. */
export interface Transfers {
  /**
   * Resolves when the answer begins.
   * @throws {HttpConnectFailure} nothing answered. {@link HttpTimeout} What the body throws. The signal's reason.
   */
  send(transfer: Transfer): Promise<TransferResponse>;
}

/** All of it as text. @param most bytes; what is beyond is left out */
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

/** One part, or none. */
export async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") {
    yield new TextEncoder().encode(text);
  }
}

/** All of it, in memory. */
export async function bytesIn(bytes: Bytes): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of bytes) {
    parts.push(part);
  }
  return Buffer.concat(parts);
}
