import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../logger.js";
import { Mounts, type Route } from "../mounts.js";
import { openstackError } from "../openstack-error.js";
import type { ServiceHandler, ServiceResponse } from "../service.js";

/** A body that is too large is read and dropped up to this many times the limit, so that the client sees the 413. */
const DROPPED_LIMITS = 8;

type Body = { readonly text: string } | "too large" | "broken off";

/** Takes requests off the wire, hands them to the services and sends the answers. */
export class HttpExchange {
  readonly #mounts: Mounts;
  readonly #bodyBytes: number;
  readonly #logger: Logger;
  #draining = false;

  constructor(services: Readonly<Record<string, ServiceHandler>>, bodyBytes: number, logger: Logger) {
    this.#mounts = new Mounts(services);
    this.#bodyBytes = bodyBytes;
    this.#logger = logger;
  }

  /** From now on every answer closes its connection. */
  drain(): void {
    this.#draining = true;
  }

  async serve(request: IncomingMessage, response: ServerResponse, listenerUrl: string): Promise<void> {
    const body = await readBody(request, this.#bodyBytes);
    if (body === "broken off") {
      response.destroy();
      return;
    }
    if (body === "too large") {
      const detail = `the body is larger than ${this.#bodyBytes} bytes`;
      response.setHeader("connection", "close");
      this.#send(response, openstackError(413, detail, newRequestId()));
      return;
    }
    this.#send(response, await this.#answer(request, body.text, listenerUrl));
  }

  async #answer(request: IncomingMessage, body: string, listenerUrl: string): Promise<ServiceResponse> {
    const route = this.#mounts.match(request.url ?? "/");
    if (!route) {
      return openstackError(404, "nothing is served at this path", newRequestId());
    }
    try {
      return await this.#handle(route, request, body, listenerUrl);
    } catch (error) {
      const requestId = newRequestId();
      this.#logger.error("a request failed unexpectedly", {
        err: error,
        method: request.method,
        request_id: requestId,
      });
      return openstackError(500, "an unexpected error prevented the server from answering", requestId);
    }
  }

  async #handle(route: Route, request: IncomingMessage, body: string, listenerUrl: string): Promise<ServiceResponse> {
    const { host } = request.headers;
    return route.handler({
      method: request.method ?? "GET",
      path: route.path,
      query: route.query,
      headers: flattenHeaders(request.headers),
      body,
      baseUrl: `${host ? `http://${host}` : listenerUrl}${route.mount}`,
    });
  }

  #send(response: ServerResponse, { status, headers, body }: ServiceResponse): void {
    if (this.#draining) {
      response.setHeader("connection", "close");
    }
    try {
      const bodiless = status === 204 || status === 304;
      response.writeHead(status, {
        ...(bodiless ? {} : { "content-length": String(Buffer.byteLength(body)) }),
        ...headers,
      });
      response.end(bodiless ? undefined : body);
    } catch (error) {
      this.#logger.error("a service gave an answer that cannot be sent", { err: error, status });
      response.destroy();
    }
  }
}

/** Several values joined by `, `. */
export function flattenHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) {
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
  }
  return flat;
}

async function readBody(request: IncomingMessage, limit: number): Promise<Body> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    if (Number(request.headers["content-length"] ?? 0) > DROPPED_LIMITS * limit) {
      resolve("too large");
      return;
    }
    request.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes <= limit) {
        parts.push(part);
      } else {
        parts.length = 0;
        if (bytes > DROPPED_LIMITS * limit) {
          request.pause();
          resolve("too large");
        }
      }
    });
    request.on("end", () => resolve(bytes > limit ? "too large" : { text: Buffer.concat(parts).toString() }));
    request.on("error", () => resolve("broken off"));
    request.on("close", () => resolve("broken off"));
  });
}

function newRequestId(): string {
  return `req-${randomUUID()}`;
}
