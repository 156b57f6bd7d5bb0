import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { capToProfile } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import { isoSeconds } from "../objects/record-object.js";

/** Nova's RequestContext: the requesting user and the request, by Nova's names without `_context_`. */
export type NovaContext = Readonly<Record<string, unknown>>;

/** A request to a service (oslo.messaging's envelope 2.0). */
export interface OsloRequest {
  readonly kind: "request";
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The version of the interface: `6.0`. */
  readonly version: string;
  readonly namespace: string | null;
  readonly context: NovaContext;
  /** Null for a cast. */
  readonly reply: ReplyAddress | null;
  readonly uniqueId: string;
}

/** The return address of a call. */
export interface ReplyAddress {
  readonly messageId: string;
  readonly queue: string;
  /** Maximum seconds of silence of a pending call, if the caller wants signs of life; otherwise null. */
  readonly monitorTimeout: number | null;
}

/** The reply to a call, or a sign of life of a pending call. */
export interface OsloReply {
  readonly kind: "reply";
  readonly messageId: string;
  readonly result: unknown;
  /** JSON string, see `failures.ts`. */
  readonly failure: string | null;
  /** If false, the call is still pending. */
  readonly ending: boolean;
  readonly uniqueId: string;
}

declare const sealed: unique symbol;

/** A message that may leave the process: it contains nothing newer than the control plane. Only {@link seal} creates one. */
export type SealedMessage = string & { readonly [sealed]: true };

const VERSION = "2.0";

const CONTEXT = "_context_";

/** Converts a message for publishing; there is no other way. @throws {ObjectTooNew} */
export function seal(message: OsloRequest | OsloReply, profile: ReleaseProfile): SealedMessage {
  const plain = message.kind === "request" ? requestFields(message) : replyFields(message);
  const text = JSON.stringify(capToProfile(plain, profile));
  return JSON.stringify({ "oslo.version": VERSION, "oslo.message": text }) as SealedMessage;
}

function requestFields(request: OsloRequest): Readonly<Record<string, unknown>> {
  const { method, args, version, namespace, context, reply: replyTo, uniqueId } = request;
  return {
    method,
    args,
    version,
    ...(namespace === null ? {} : { namespace }),
    ...(replyTo === null
      ? {}
      : { _msg_id: replyTo.messageId, _reply_q: replyTo.queue, _timeout: replyTo.monitorTimeout }),
    _unique_id: uniqueId,
    ...Object.fromEntries(Object.entries(context).map(([key, value]) => [CONTEXT + key, value])),
  };
}

function replyFields({ messageId, result, failure, ending, uniqueId }: OsloReply): Readonly<Record<string, unknown>> {
  return { result, failure, ending, _msg_id: messageId, _unique_id: uniqueId };
}

/** @throws {MalformedMessage} without any content of the message, which may contain passwords */
export function openMessage(body: string): OsloRequest | OsloReply {
  const envelope = parsed(body, "the envelope");
  const text = envelope["oslo.message"];
  if (typeof text !== "string") {
    throw new NovaRpcError("MalformedMessage", "the envelope has no oslo.message");
  }
  return messageOf(parsed(text, "oslo.message"));
}

/**
 * Parses the fields of `oslo.message`.
 * @internal exported for tests
 */
export function messageOf(fields: Readonly<Record<string, unknown>>): OsloRequest | OsloReply {
  const { _unique_id: unique = "", _msg_id: messageId } = fields;
  const uniqueId = String(unique);
  if (fields.method !== undefined) {
    return { ...requestOf(fields), uniqueId };
  }
  if (typeof messageId !== "string") {
    throw new NovaRpcError("MalformedMessage", "a message that is neither a request nor a reply");
  }
  const { result = null, failure = null, ending } = fields;
  return {
    kind: "reply",
    messageId,
    result,
    failure: failure === null ? null : String(failure),
    ending: ending !== false,
    uniqueId,
  };
}

function requestOf(fields: Readonly<Record<string, unknown>>): Omit<OsloRequest, "uniqueId"> {
  const { method, args = {}, version = "1.0", namespace = null } = fields;
  if (typeof method !== "string" || !isObject(args) || typeof version !== "string") {
    throw new NovaRpcError("MalformedMessage", "a request without method, arguments by name, or version");
  }
  const context = Object.entries(fields).filter(([key]) => key.startsWith(CONTEXT));
  return {
    kind: "request",
    method,
    args,
    version,
    namespace: typeof namespace === "string" ? namespace : null,
    context: Object.fromEntries(context.map(([key, value]) => [key.slice(CONTEXT.length), value])),
    reply: parseReplyAddress(fields),
  };
}

function parseReplyAddress(fields: Readonly<Record<string, unknown>>): ReplyAddress | null {
  const { _msg_id: messageId, _reply_q: queue, _timeout: timeout } = fields;
  if (typeof messageId !== "string" || typeof queue !== "string") {
    return null;
  }
  return { messageId, queue, monitorTimeout: typeof timeout === "number" && timeout > 0 ? timeout : null };
}

function parsed(text: string, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new NovaRpcError("MalformedMessage", `${what} is not JSON`);
  }
  if (!isObject(value)) {
    throw new NovaRpcError("MalformedMessage", `${what} is not an object`);
  }
  return value;
}

/**
 * Returns the context of the agent's own calls. A conductor reads only `is_admin`, `request_id` and `read_deleted` of it.
 */
export function adminContext(requestId: string, now: number): NovaContext {
  return {
    user: null,
    project_id: null,
    system_scope: null,
    project: null,
    domain: null,
    user_domain: null,
    project_domain: null,
    is_admin: true,
    read_only: false,
    show_deleted: false,
    auth_token: null,
    request_id: requestId,
    global_request_id: null,
    resource_uuid: null,
    roles: [],
    user_identity: "- - - - -",
    is_admin_project: true,
    user_id: null,
    read_deleted: "no",
    remote_address: null,
    timestamp: isoSeconds(now).replace("Z", ".000000"),
    quota_class: null,
    user_name: null,
    service_catalog: [],
    project_name: null,
  };
}

/** Returns a context whose queries include deleted rows. */
export function readingDeleted(context: NovaContext): NovaContext {
  return { ...context, read_deleted: "yes" };
}

/** Returns `req-<uuid>`; an empty string if there is none. */
export function requestIdOf({ request_id: id }: NovaContext): string {
  return typeof id === "string" ? id : "";
}
