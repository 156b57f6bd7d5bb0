import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Bytes } from "../http.js";
import {
  BYTES,
  type ListenLimits,
  type ListenOptions,
  Mounts,
  type RejectRequest,
  type Route,
  type ServiceHandler,
  type ServiceResponse,
} from "../http-server.js";
import type { Logger } from "../runtime.js";
import { dropRest, endWhenIdle, flattenHeaders, sendBytes, sendPieces } from "./http-messages.js";
import type { RequestQueue } from "./request-slots.js";

/** Discards a body that is too large up to this multiple of the limit, so that the client can read the 413. */
const DROPPED_LIMITS = 8;

type Body = { readonly text: string } | "too large" | "broken off" | "too slow";

/** Scheduling of requests in the listener's queue. */
interface Order {
  readonly queue: Pick<RequestQueue, "change" | "read">;
  readonly isLowPriority: NonNullable<ListenOptions["isLowPriority"]>;
}

/** A body as it is passed to a service. */
interface Taken {
  readonly text: string;
  readonly bytes?: Bytes;
}

/** Reads requests, dispatches them to the services and sends the responses. */
export class HttpExchange {
  readonly #mounts: Mounts;
  readonly #bodyBytes: number;
  readonly #requestTimeout: number;
  readonly #reject: RejectRequest;
  readonly #logger: Logger;
  readonly #order: Order | null;
  #draining = false;

  /** @param order null: the listener has no WebSockets whose messages need priority over requests */
  constructor(
    services: Readonly<Record<string, ServiceHandler>>,
    { bodyBytes, requestTimeout }: Pick<ListenLimits, "bodyBytes" | "requestTimeout">,
    reject: RejectRequest,
    logger: Logger,
    order: Order | null,
  ) {
    this.#order = order;
    this.#mounts = new Mounts(services);
    this.#bodyBytes = bodyBytes;
    this.#requestTimeout = requestTimeout;
    this.#reject = reject;
    this.#logger = logger;
  }

  /** Makes every response from now on close its connection. */
  drain(): void {
    this.#draining = true;
  }

  serve(request: IncomingMessage, response: ServerResponse, listenerUrl: string): void {
    const route = this.#mounts.match(request.url ?? "/");
    const reply = (body: Taken) => this.#reply(route, request, response, body, listenerUrl);
    if (!hasBody(request)) {
      this.#begin(request, route, () => reply(NO_BODY));
      return;
    }
    if (isBytes(request)) {
      endWhenIdle(request, response, this.#requestTimeout);
      void reply({ text: "", bytes: request });
      return;
    }
    readBody(request, { bytes: this.#bodyBytes, time: this.#requestTimeout }, (body) => {
      if (body === "broken off") {
        response.destroy();
      } else if (body === "too slow") {
        response.setHeader("connection", "close");
        const reason = "the request was not sent in time";
        this.#send(response, this.#rejectRequest(request, 408, reason));
      } else if (body === "too large") {
        const reason = `the body is larger than ${this.#bodyBytes} bytes`;
        response.setHeader("connection", "close");
        this.#send(response, this.#rejectRequest(request, 413, reason));
      } else {
        this.#begin(request, route, () => reply(body));
      }
    });
  }

  #begin({ method = "GET" }: IncomingMessage, route: Route | undefined, work: () => unknown): void {
    if (
      this.#order === null ||
      route === undefined ||
      !this.#order.isLowPriority({ method, path: route.path }, route.mount)
    ) {
      work();
    } else if (method === "GET") {
      this.#order.queue.read(work);
    } else {
      this.#order.queue.change(work);
    }
  }

  /**
   * Sends a synchronous response immediately and returns undefined: an event-loop tick is a large part of the cost of a
   * small request.
   */
  #reply(
    route: Route | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    body: Taken,
    listenerUrl: string,
  ): Promise<void> | undefined {
    if (!route) {
      const reason = "nothing is served at this path";
      this.#send(response, this.#rejectRequest(request, 404, reason));
      return undefined;
    }
    let result: ServiceResponse | Promise<ServiceResponse>;
    try {
      result = this.#handle(route, request, body, listenerUrl);
    } catch (error) {
      result = this.#failure(request, error);
    }
    if (!(result instanceof Promise)) {
      this.#send(response, result);
      return undefined;
    }
    return result.then(
      (serviceResponse) => this.#send(response, serviceResponse),
      (error: unknown) => this.#send(response, this.#failure(request, error)),
    );
  }

  #failure(request: IncomingMessage, error: unknown): ServiceResponse {
    const requestId = newRequestId();
    this.#logger.error("a request failed with an unexpected error; responding with 500", {
      err: error,
      method: request.method,
      request_id: requestId,
    });
    const reason = "an unexpected error prevented the server from answering";
    return this.#rejectRequest(request, 500, reason, requestId);
  }

  #rejectRequest(
    { method, url }: IncomingMessage,
    status: number,
    reason: string,
    requestId = newRequestId(),
  ): ServiceResponse {
    const requestLine = method === undefined || url === undefined ? {} : { method, target: url };
    return this.#reject({ status, reason, requestId, ...requestLine });
  }

  #handle(
    route: Route,
    request: IncomingMessage,
    { text, bytes }: Taken,
    listenerUrl: string,
  ): ServiceResponse | Promise<ServiceResponse> {
    const { host } = request.headers;
    const taken = {
      method: request.method ?? "GET",
      path: route.path,
      query: route.query,
      headers: flattenHeaders(request.headers),
      body: text,
      baseUrl: `${originOf(host, listenerUrl)}${route.mount}`,
    };
    return route.handler(bytes === undefined ? taken : { ...taken, bytes });
  }

  #send(response: ServerResponse, { status, headers, body, pieces, bytes: stream }: ServiceResponse): void {
    // Until the parser is done, a request without a body looks like one with unread data.
    const rest = hasBody(response.req) && dropRest(response.req, DROPPED_LIMITS * this.#bodyBytes);
    if (this.#draining || rest) {
      response.setHeader("connection", "close");
    }
    try {
      const lines: string[] = [];
      for (const name in headers) {
        lines.push(name, headers[name] ?? "");
      }
      if (status === 204 || status === 304) {
        response.writeHead(status, lines);
        response.end();
        return;
      }
      if (stream !== undefined) {
        response.writeHead(status, lines);
        sendBytes(stream, response, this.#requestTimeout, this.#logger);
        return;
      }
      if (pieces !== undefined) {
        lines.push("content-length", String(pieces.reduce((bytes, piece) => bytes + Buffer.byteLength(piece), 0)));
        response.writeHead(status, lines);
        sendPieces(pieces, response, this.#requestTimeout);
        return;
      }
      if (headers["content-length"] === undefined) {
        lines.push("content-length", String(Buffer.byteLength(body)));
      }
      response.writeHead(status, lines);
      response.end(body);
    } catch (error) {
      this.#logger.error("the response of a service cannot be sent; closing the connection", { err: error, status });
      response.destroy();
    }
  }
}

/** Returns the origin that the client addressed: from its Host header, or else the listener's own address. */
export function originOf(host: string | undefined, listenerUrl: string): string {
  return host ? `${listenerUrl.slice(0, listenerUrl.indexOf(":"))}://${host}` : listenerUrl;
}

const NO_BODY: Taken = { text: "" };

/** Returns whether the client announces a body. Node handles bytes that arrive unannounced. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** Returns whether the service reads this body itself, in parts. */
function isBytes({ headers }: IncomingMessage): boolean {
  return headers["content-type"]?.split(";")[0]?.trim().toLowerCase() === BYTES;
}

/** Calls `done` exactly once. */
function readBody(
  request: IncomingMessage,
  { bytes: limit, time }: { readonly bytes: number; readonly time: number },
  done: (body: Body) => void,
): void {
  if (Number(request.headers["content-length"] ?? 0) > DROPPED_LIMITS * limit) {
    done("too large");
    return;
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  let open = true;
  const timer = setTimeout(() => finish("too slow"), time);
  const finish = (body: Body) => {
    if (open) {
      open = false;
      clearTimeout(timer);
      done(body);
    }
  };
  request.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes <= limit) {
      parts.push(part);
    } else {
      parts.length = 0;
      if (bytes > DROPPED_LIMITS * limit) {
        request.pause();
        finish("too large");
      }
    }
  });
  request.on("end", () => finish(bytes > limit ? "too large" : { text: textOf(parts) }));
  request.on("error", () => finish("broken off"));
  request.on("close", () => finish("broken off"));
}

function textOf(parts: readonly Buffer[]): string {
  const [only, another] = parts;
  return only !== undefined && another === undefined ? only.toString() : Buffer.concat(parts).toString();
}

function newRequestId(): string {
  return `req-${randomUUID()}`;
}
