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

/** A body that is too large is read and dropped up to this many times the limit, so that the client sees the 413. */
const DROPPED_LIMITS = 8;

/** Bodies from here on are sent from a buffer of their own, not copied together with the header. */
const COPIED_BYTES = 16_384;

type Body = { readonly text: string } | "too large" | "broken off" | "too slow";

/** When requests begin. */
interface Order {
  readonly queue: Pick<RequestQueue, "change" | "read">;
  readonly isLowPriority: NonNullable<ListenOptions["isLowPriority"]>;
}

/** A body as a service is given it. */
interface Taken {
  readonly text: string;
  readonly bytes?: Bytes;
}

/** Takes requests off the wire, hands them to the services and sends the answers. */
export class HttpExchange {
  readonly #mounts: Mounts;
  readonly #bodyBytes: number;
  readonly #requestTimeout: number;
  readonly #reject: RejectRequest;
  readonly #logger: Logger;
  readonly #order: Order | null;
  #draining = false;

  /** @param order null: nothing that a request may come with is in more of a hurry */
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

  /** From now on every answer closes its connection. */
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

  /** Sends an answer that is there already at once, and gives nothing: a turn of the event loop is a good part of a small request. */
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
    this.#logger.error("a request failed unexpectedly", { err: error, method: request.method, request_id: requestId });
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
    // Before the parser has come to its end, a request without a body looks like one with a rest to read.
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
      const bytes = Buffer.byteLength(body);
      if (headers["content-length"] === undefined) {
        lines.push("content-length", String(bytes));
      }
      response.writeHead(status, lines);
      if (bytes !== body.length) {
        response.end(body);
      } else if (bytes < COPIED_BYTES) {
        // Nothing but ASCII: Node would set three bytes a character aside for UTF-8.
        response.end(body, "latin1");
      } else {
        response.end(Buffer.from(body, "latin1"));
      }
    } catch (error) {
      this.#logger.error("a service gave an answer that cannot be sent", { err: error, status });
      response.destroy();
    }
  }
}

/** Where a client found the listener: by its Host header, or for want of one by the listener's own address. */
export function originOf(host: string | undefined, listenerUrl: string): string {
  return host ? `${listenerUrl.slice(0, listenerUrl.indexOf(":"))}://${host}` : listenerUrl;
}

const NO_BODY: Taken = { text: "" };

/** Whether the client announces a body; Node sees to what comes without an announcement. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers["content-length"];
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined;
}

/** The service reads such a body by itself, piece by piece. */
function isBytes({ headers }: IncomingMessage): boolean {
  return headers["content-type"]?.split(";")[0]?.trim().toLowerCase() === BYTES;
}

/** Calls back once. */
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
