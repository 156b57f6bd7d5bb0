import {
  type Meta,
  type Outcome,
  type ResponseFrame,
  RPC_CODES,
  type RpcId,
} from "../../conductor-client/wire/frames.js";
import { isHostName } from "../../records/host-name.js";
import { isObject } from "../../runtime/is-object.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../http/listener-limits.js";
import { respond } from "./session.js";

/** A request in the standard's form, with what may be left out filled in. */
export interface ValidRequest {
  /** Undefined: a notification. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: object;
  readonly meta: Meta;
}

/** What one message of a frame is. */
export type Message =
  | { readonly kind: "request"; readonly request: ValidRequest }
  | { readonly kind: "response"; readonly response: { readonly id: RpcId } & Outcome }
  | { readonly kind: "refused"; readonly response: ResponseFrame };

/** Messages of one batch; more are refused. */
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

/** Takes a text frame apart: one message, or the list of a batch. Never throws. */
export function readFrame(text: string): Message | readonly Message[] {
  // Each message of a batch may be as deep as one that comes alone.
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
    return createRejection(replyId, RPC_CODES.invalidParams, "params: expected an object, parameters go by name");
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
        message: typeof message === "string" ? message : "the agent answered with an error that says nothing",
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
  return wrong ? `meta.${wrong[0]}: unknown, or not of its type` : undefined;
}

function createRejection(id: RpcId, code: number, message: string): Message {
  return { kind: "refused", response: respond(id, { error: { code, message } }) };
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= 255;
}
