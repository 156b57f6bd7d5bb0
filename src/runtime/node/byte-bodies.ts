import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Logger } from "../logger.js";
import type { Bytes } from "../transfers.js";

/** What it is to a stream when the other end has closed it. */
const LEFT = "ERR_STREAM_PREMATURE_CLOSE";

/** Breaks a request off in which nothing has come or gone for so many milliseconds, until it is answered. */
export function endWhenIdle(request: IncomingMessage, response: ServerResponse, milliseconds: number): void {
  const { socket } = request;
  socket.setTimeout(milliseconds, () => {
    request.destroy(new Error(`nothing has come for ${milliseconds} ms`));
  });
  response.once("close", () => socket.setTimeout(0));
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
