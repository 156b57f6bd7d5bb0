import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Logger } from "../logger.js";
import type { Bytes } from "../transfers.js";

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
