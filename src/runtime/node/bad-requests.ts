import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { RejectRequest, ServiceResponse } from "../http-server.js";

/** Responses to requests that could not be parsed, by Node's error code. Any other code gets a plain 400. */
const ERROR_RESPONSES: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_INVALID_CONTENT_LENGTH: [400, "content-length header must be an integer"],
  HPE_HEADER_OVERFLOW: [431, "the header fields are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the request was not sent in time"],
};

/** Responds to Node's `clientError` and closes the connection. */
export function sendBadRequest(reject: RejectRequest, error: NodeJS.ErrnoException, connection: Duplex): void {
  if (error.code === "ECONNRESET" || !connection.writable) {
    connection.destroy();
    return;
  }
  const [status, reason] = ERROR_RESPONSES[error.code ?? ""] ?? [400, "the request is not well-formed HTTP"];
  const response = reject({ status, reason, requestId: `req-${randomUUID()}` });
  connection.end(serializeResponse(response), () => connection.destroy());
}

/** Serializes a response after which the connection closes. */
function serializeResponse({ status, headers, body }: ServiceResponse): string {
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(body), connection: "close" });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** The first byte of a TLS connection: a handshake record. */
const HANDSHAKE = 22;

/**
 * Checks the first byte of each connection, so that a client that speaks plain HTTP gets an explanation. TLS itself
 * would only close the connection.
 * @param firstByteTimeoutMs max milliseconds until the first byte of a client
 * @returns a function that destroys all connections, including those before the handshake
 */
export function onlyTls(server: Server, reject: RejectRequest, firstByteTimeoutMs: number): () => void {
  const open = new Set<Socket>();
  const shakeHands = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    const drop = () => socket.destroy();
    socket.setTimeout(firstByteTimeoutMs, drop);
    socket.on("error", drop);
    socket.once("close", () => open.delete(socket));
    socket.once("data", (start: Buffer) => {
      socket.setTimeout(0, drop);
      socket.off("timeout", drop);
      socket.pause();
      if (start[0] === HANDSHAKE) {
        socket.unshift(start);
        for (const take of shakeHands) {
          take.call(server, socket);
        }
        return;
      }
      const reason = "this port speaks TLS: connect with https:// or wss://";
      socket.end(serializeResponse(reject({ status: 400, reason, requestId: `req-${randomUUID()}` })), drop);
    });
  });
  return () => {
    for (const socket of open) {
      socket.destroy();
    }
  };
}
