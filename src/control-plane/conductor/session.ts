import { ConductorError } from "../../conductor-client/errors.js";
import {
  decodeError,
  encodeError,
  type Meta,
  type Outcome,
  type ResponseFrame,
  RPC_CODES,
  type RpcId,
} from "../../conductor-client/wire.js";
import { isHostName } from "../../records/host-names.js";
import { isObject } from "../../runtime/collections.js";
import type { Socket } from "../../runtime/sockets.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../http/listener-limits.js";

export interface SessionLimits {
  /** Max bytes queued for a client that does not read; beyond it, the connection is closed. */
  readonly bufferedBytes: number;
  /** Max concurrent calls of a connection. */
  readonly callsUnderWay: number;
}

/** An agent process as it introduced itself. */
export interface AgentIdentity {
  readonly bootId: string;
  readonly pid: number;
  readonly machine: string;
  readonly version: string;
}

interface Question {
  /** The called host, if the call is for a host. */
  readonly host: string | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly cancel: CancelTimer;
}

/** A connection of an agent process: its sent messages, pending calls, and last activity. */
export class Session {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #limits: SessionLimits;
  /** URL by which the client reached the control plane: `https://host:port`. */
  readonly origin: string;
  readonly #questions = new Map<RpcId, Question>();
  /** Monotonic. */
  readonly connectedAt: number;
  #lastFrameAt: number;
  #lastId = 0;
  #closed = false;
  #identity: AgentIdentity | undefined;
  /** Replies up to this call of the agent have been deleted. */
  acknowledged = -1;
  /** Number of calls in progress. */
  underWay = 0;

  constructor(
    socket: Socket,
    deps: { readonly clock: Clock; readonly timers: Timers; readonly limits: SessionLimits },
    origin: string,
  ) {
    this.origin = origin;
    this.#socket = socket;
    this.#clock = deps.clock;
    this.#timers = deps.timers;
    this.#limits = deps.limits;
    this.connectedAt = deps.clock.monotonic();
    this.#lastFrameAt = this.connectedAt;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Monotonic time of the last frame. */
  get lastFrameAt(): number {
    return this.#lastFrameAt;
  }

  get identity(): AgentIdentity | undefined {
    return this.#identity;
  }

  get overLimit(): boolean {
    return this.underWay >= this.#limits.callsUnderWay;
  }

  recordFrame(): void {
    this.#lastFrameAt = this.#clock.monotonic();
  }

  introduce(identity: AgentIdentity): void {
    this.#identity = identity;
  }

  /** Sends a message. Closes the connection of a client that does not read its messages. */
  send(message: unknown): void {
    if (this.#closed) {
      return;
    }
    this.#socket.send(textOf(message));
    if (this.#socket.bufferedBytes > this.#limits.bufferedBytes) {
      this.#socket.terminate();
    }
  }

  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /**
   * Calls the agent and waits `meta.timeout` ms; without it, indefinitely.
   * @throws {MessagingTimeout} if no response arrives in time, or the connection ends
   */
  ask(method: string, question: { readonly params: unknown; readonly meta: Meta }): Promise<unknown> {
    const { params, meta } = question;
    const { timeout } = meta;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(connectionEnded(method, meta));
        return;
      }
      const expire = () => {
        this.#questions.delete(id);
        reject(
          new ConductorError(
            "MessagingTimeout",
            `${meta.host ?? "the agent"}: no response to ${method} within ${timeout} ms`,
            { ...meta },
          ),
        );
      };
      const cancel = timeout === undefined ? () => {} : this.#timers.after(timeout, expire);
      const fail = (error: Error) => reject(error);
      this.#questions.set(id, { host: meta.host, resolve, reject: fail, cancel });
      this.send({ jsonrpc: "2.0", id, method, params, meta });
    });
  }

  /** Passes the agent's response to its pending call; drops a response without one. */
  handleResponse(response: { readonly id: RpcId } & Outcome): void {
    const question = this.#questions.get(response.id);
    if (!question) {
      return;
    }
    this.#questions.delete(response.id);
    question.cancel();
    if ("error" in response) {
      question.reject(decodeError(response.error));
    } else {
      question.resolve(response.result);
    }
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Rejects pending calls to a host of this connection that has ended. */
  hostEnded(host: string): void {
    for (const [id, { host: questionHost, reject, cancel }] of this.#questions) {
      if (questionHost === host) {
        this.#questions.delete(id);
        cancel();
        reject(new ConductorError("MessagingTimeout", `the agent of host ${host} ended before it responded`, { host }));
      }
    }
  }

  /** Rejects all pending calls of a closed connection. */
  ended(): void {
    this.#closed = true;
    for (const { reject, cancel } of this.#questions.values()) {
      cancel();
      reject(connectionEnded("a call", {}));
    }
  }
}

/** Returns the message as JSON; an error if a value from an agent is nested too deeply to serialize. */
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message);
  } catch {
    const { id = null } = message as { readonly id?: RpcId };
    return JSON.stringify(respond(id, { error: encodeError(undefined) }));
  }
}

function connectionEnded(method: string, meta: Meta): ConductorError {
  return new ConductorError("MessagingTimeout", `the agent's connection ended before it responded to ${method}`, {
    ...meta,
  });
}

export function respond(id: RpcId, outcome: Outcome): ResponseFrame {
  return { jsonrpc: "2.0", id, ...outcome };
}

/** A valid JSON-RPC request with defaults filled in. */
export interface ValidRequest {
  /** Undefined for a notification. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: object;
  readonly meta: Meta;
}

export type Message =
  | { readonly kind: "request"; readonly request: ValidRequest }
  | { readonly kind: "response"; readonly response: { readonly id: RpcId } & Outcome }
  | { readonly kind: "refused"; readonly response: ResponseFrame };

/** Max messages of a batch; larger batches are rejected. */
const LONGEST_BATCH = 100;

const BATCH_LIMITS = { ...MESSAGE_LIMITS.wire, depth: MESSAGE_LIMITS.wire.depth + 1 };

const META_CHECKS: Readonly<Record<keyof Meta, (value: unknown) => boolean>> = {
  host: (value) => typeof value === "string" && isHostName(value),
  boot: isName,
  requestId: isName,
  ack: (value) => Number.isSafeInteger(value),
  unfenced: (value) => typeof value === "boolean",
  message: (value) => Number.isSafeInteger(value),
  call: isName,
  timeout: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};

const CHECKS_BY_FIELD = new Map<string, (value: unknown) => boolean>(Object.entries(META_CHECKS));

/** Parses a text frame into one message or the messages of a batch. Never throws. */
export function readFrame(text: string): Message | readonly Message[] {
  // Messages of a batch may be as deeply nested as a single message.
  const limits = text.startsWith("[") ? BATCH_LIMITS : MESSAGE_LIMITS.wire;
  const excess = excessOf(text, limits);
  if (excess) {
    return createRejection(null, RPC_CODES.invalidRequest, excessText(excess, limits, "frame"));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return createRejection(null, RPC_CODES.parseError, "the frame is not JSON");
  }
  if (!Array.isArray(value)) {
    return readMessage(value);
  }
  if (value.length === 0 || value.length > LONGEST_BATCH) {
    const message = `a batch has 1 to ${LONGEST_BATCH} messages; found ${value.length}`;
    return createRejection(null, RPC_CODES.invalidRequest, message);
  }
  return value.map(readMessage);
}

function readMessage(value: unknown): Message {
  if (!isObject(value)) {
    return createRejection(null, RPC_CODES.invalidRequest, "a message is an object");
  }
  const { jsonrpc, id, method, params, meta } = value;
  const validId = id === null || typeof id === "string" || typeof id === "number";
  const replyId = validId ? id : null;
  if (jsonrpc !== "2.0") {
    return createRejection(replyId, RPC_CODES.invalidRequest, 'jsonrpc: expected "2.0"');
  }
  if (method === undefined && validId && ("result" in value || "error" in value)) {
    return readResponse(id, value);
  }
  if (id !== undefined && !validId) {
    return createRejection(null, RPC_CODES.invalidRequest, "id: expected a string, a number or null");
  }
  if (typeof method !== "string") {
    return createRejection(replyId, RPC_CODES.invalidRequest, "method: expected a string");
  }
  if (params !== undefined && !isObject(params)) {
    return createRejection(replyId, RPC_CODES.invalidParams, "params: expected an object with named parameters");
  }
  const wrong = wrongMeta(meta);
  if (wrong !== undefined) {
    return createRejection(replyId, RPC_CODES.invalidRequest, wrong);
  }
  const request = { id: id === undefined ? undefined : replyId, method, params: params ?? {}, meta: meta ?? {} };
  return { kind: "request", request };
}

function readResponse(id: RpcId, value: Readonly<Record<string, unknown>>): Message {
  if ("result" in value) {
    return { kind: "response", response: { id, result: value.result } };
  }
  const { error } = value;
  const { code, message, data } = isObject(error) ? error : {};
  const { name, details } = isObject(data) ? data : {};
  return {
    kind: "response",
    response: {
      id,
      error: {
        code: typeof code === "number" ? code : RPC_CODES.internalError,
        message: typeof message === "string" ? message : "the agent returned an error without a message",
        ...(typeof name === "string" ? { data: { name, details: isObject(details) ? details : {} } } : {}),
      },
    },
  };
}

function wrongMeta(meta: unknown): string | undefined {
  if (meta === undefined) {
    return undefined;
  }
  if (!isObject(meta)) {
    return "meta: expected an object";
  }
  const wrong = Object.entries(meta).find(([field, value]) => !CHECKS_BY_FIELD.get(field)?.(value));
  return wrong ? `meta.${wrong[0]}: unknown, or of the wrong type` : undefined;
}

function createRejection(id: RpcId, code: number, message: string): Message {
  return { kind: "refused", response: respond(id, { error: { code, message } }) };
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= 255;
}
