import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Bytes } from "../http.js";
import type { Logger } from "../runtime.js";

/** Joins repeated headers with `, `. Returns the same object if no header is repeated, which is the usual case. */
export function flattenHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return isFlat(headers) ? headers : flatten(headers);
}

function isFlat(headers: IncomingHttpHeaders): headers is Record<string, string> {
  for (const name in headers) {
    if (typeof headers[name] !== "string") {
      return false;
    }
  }
  return true;
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) {
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
  }
  return flat;
}

/** The stream error code for a connection that the peer has closed. */
const LEFT = "ERR_STREAM_PREMATURE_CLOSE";

/** Aborts a request when no byte has moved for `milliseconds`, until its response is sent. */
export function endWhenIdle(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const { socket } = request;
  const breakOff = () => request.destroy(new Error(`no data received for ${milliseconds} ms`));
  let isWatching = true;
  const stop = () => {
    if (isWatching) {
      isWatching = false;
      socket.setTimeout(0, breakOff);
    }
  };
  socket.setTimeout(milliseconds, breakOff);
  // The connection may stay open. Node sets the idle timeout when the response has finished, so this timeout must be
  // removed before.
  response.prependOnceListener("finish", stop);
  response.once("close", stop);
}

/**
 * Reads and discards the unread rest of a request body, so that the client can read the response. Aborts the request
 * after more than `most` bytes. Returns false if nothing is left.
 */
export function dropRest(request: IncomingMessage, most: number): boolean {
  if (request.readableEnded || request.complete || request.destroyed) {
    return false;
  }
  let dropped = 0;
  request.on("error", () => {});
  request.on("data", (part: Buffer) => {
    dropped += part.length;
    if (dropped > most) {
      request.destroy();
    }
  });
  return true;
}

/**
 * Sends a body as fast as the client reads it. Closes the connection if the client reads nothing for `milliseconds`.
 */
export function sendBytes(bytes: Bytes, response: ServerResponse, milliseconds: number, logger: Logger): void {
  response.setTimeout(milliseconds, () => response.destroy());
  pipeline(bytes, response).catch((error: NodeJS.ErrnoException) => {
    if (error.code === LEFT) {
      logger.debug("a client disconnected before the end of a response");
    } else {
      logger.warn("the body of a response failed; closing the connection", { err: error });
    }
    response.destroy();
  });
}

/** Bytes per write: few enough to be copied for each client, many enough to justify a system call. */
const WRITTEN = 131_072;

/**
 * Sends strings one after the other, as fast as the client reads them. Closes the connection if the client reads
 * nothing for `milliseconds`. When a client disconnects, the rest is dropped.
 */
export function sendPieces(pieces: readonly string[], response: ServerResponse, milliseconds: number): void {
  let next = 0;
  const write = () => {
    let taken = true;
    while (taken && next < pieces.length) {
      const from = next;
      let bytes = 0;
      for (; next < pieces.length && bytes < WRITTEN; next += 1) {
        bytes += Buffer.byteLength(pieces[next] ?? "");
      }
      taken = response.write(encoded(pieces.slice(from, next), bytes));
    }
    if (next === pieces.length) {
      response.off("drain", write);
      response.end();
    }
  };
  response.setTimeout(milliseconds, () => response.destroy());
  response.on("drain", write);
  write();
}

/** Joining thousands of strings first would take three times as long. */
function encoded(strings: readonly string[], bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const text of strings) {
    at += chunk.write(text, at);
  }
  return chunk;
}
