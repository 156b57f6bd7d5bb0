import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Bytes } from "../http.js";
import type { Logger } from "../runtime.js";

/** Several values joined by `, `. Where none has several, as nearly always, they are not copied. */
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

/** What it is to a stream when the other end has closed it. */
const LEFT = "ERR_STREAM_PREMATURE_CLOSE";

/** Breaks off a request in which no byte has moved for so many milliseconds, until its response is sent. */
export function endWhenIdle(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const { socket } = request;
  const breakOff = () => request.destroy(new Error(`nothing has come for ${milliseconds} ms`));
  let isWatching = true;
  const stop = () => {
    if (isWatching) {
      isWatching = false;
      socket.setTimeout(0, breakOff);
    }
  };
  socket.setTimeout(milliseconds, breakOff);
  // The connection may stay open. Node sets the timeout of an idle one when the response has finished: the timeout ends before that.
  response.prependOnceListener("finish", stop);
  response.once("close", stop);
}

/**
 * Reads and drops what a service has left of a body of bytes, so that the client sees the answer; more than `most` bytes break it off.
 * False: nothing is left.
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

/** Sends the parts as fast as the client takes them; one that takes none for so many milliseconds is broken off. */
export function sendBytes(bytes: Bytes, response: ServerResponse, milliseconds: number, logger: Logger): void {
  response.setTimeout(milliseconds, () => response.destroy());
  pipeline(bytes, response).catch((error: NodeJS.ErrnoException) => {
    if (error.code === LEFT) {
      logger.debug("a client left before the end of an answer");
    } else {
      logger.warn("an answer broke off half-way", { err: error });
    }
    response.destroy();
  });
}

/** Bytes that are written at a time: few enough to be copied for each client, many enough to be worth a system call. */
const WRITTEN = 131_072;

/**
 * Sends texts one after the other, as fast as the client takes them; one that takes nothing for so many milliseconds is broken off.
 * When a client goes away, the texts that it has not taken are dropped.
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

/** To join thousands of texts first takes three times as long. */
function encoded(strings: readonly string[], bytes: number): Buffer {
  const chunk = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const text of strings) {
    at += chunk.write(text, at);
  }
  return chunk;
}
