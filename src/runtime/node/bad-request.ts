import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { RejectRequest } from "../rejection.js";
import type { ServiceResponse } from "../service.js";

/** The answer to a request that could not even be parsed, by Node's error code; anything else is a plain 400. */
const ERROR_RESPONSES: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  HPE_INVALID_CONTENT_LENGTH: [400, "content-length header must be an integer"],
  HPE_HEADER_OVERFLOW: [431, "the header fields are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "the request was not sent in time"],
};

/** Answers Node's `clientError` and closes the connection. */
export function sendBadRequest(reject: RejectRequest, error: NodeJS.ErrnoException, connection: Duplex): void {
  if (error.code === "ECONNRESET" || !connection.writable) {
    connection.destroy();
    return;
  }
  const [status, reason] = ERROR_RESPONSES[error.code ?? ""] ?? [400, "the request is not well-formed HTTP"];
  const response = reject({ status, reason, requestId: `req-${randomUUID()}` });
  connection.end(serializeResponse(response), () => connection.destroy());
}

/** An answer as it goes over the wire, after which the connection ends. */
export function serializeResponse({ status, headers, body }: ServiceResponse): string {
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(body), connection: "close" });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines.map(([name, value]) => `${name}: ${value}`)];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
