import { AGENT_METHODS, type AgentMethod } from "../../conductor-client/methods/agent.js";
import {
  type AgentHandlers,
  createRequestContext,
  type MessageObserver,
  type RequestContext,
  RPC_RESPONSE_TIMEOUT,
} from "../../conductor-client/port.js";
import { isObject } from "../../runtime/collections.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import { NovaRpcError } from "../errors.js";
import { MessageRows, type MessageScopes } from "../messages/message-scope.js";
import { type OsloRequest, openMessage, type ReplyAddress, requestIdOf } from "../messages/oslo-message.js";
import type { Rpc } from "../messages/rpc.js";
import { type NovaObject, type ObjectData, objectOf } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import type { InboundTools } from "./parameters.js";
import { type Inbound, SERVED, UNSERVED } from "./served-methods.js";

/** Maximum number of saved ids, and their lifetime in milliseconds. */
const MAX_IDS = 1_000;

const ID_TTL_MS = 600_000;

/** Ids of recent messages: a broker may redeliver a message after a lost connection. */
class RecentIds {
  readonly #clock: Clock;
  readonly #receivedAt = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns whether the id is new, and saves it. An empty id always counts as new. */
  isNew(id: string): boolean {
    const now = this.#clock.monotonic();
    for (const [oldest, at] of this.#receivedAt) {
      if (this.#receivedAt.size <= MAX_IDS && now - at <= ID_TTL_MS) {
        break;
      }
      this.#receivedAt.delete(oldest);
    }
    if (id === "") {
      return true;
    }
    const isKnown = this.#receivedAt.has(id);
    this.#receivedAt.set(id, this.#receivedAt.get(id) ?? now);
    return !isKnown;
  }
}

/** Maximum number of saved moves. */
const MAX_PREPARED_MOVES = 1_000;

/** Lifetime of a saved move in milliseconds: shorter than the silence after which Nova considers a host down. */
const PREPARED_TTL_MS = 30_000;

/**
 * Decides which messages' records are trusted without a second read. Their sender has read the records for the message, and
 * the next step reads them again:
 * - the checks of a live migration change nothing, and are repeated when it begins;
 * - the preparation of a live migration reads the migration, which only the source advances;
 * - a build and a finish begin with a save that is rejected if the instance has another task.
 *  The records of a late finish, for example at an agent that was suspended, are read again.
 */
export class TrustedMessages {
  /** Time of preparation by migration id. Each entry is used once, so the records of a repeated message are read again. */
  readonly #prepared = new Map<number, number>();
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  offer(method: string, args: Readonly<Record<string, unknown>>, rows: MessageRows): void {
    const { instance, migration, node } = args;
    const uuid = dataOf(instance).uuid;
    const id = dataOf(migration).id;
    // Only the message with which a destination prepares a move contains the node of the claim.
    if (migration !== undefined && node !== undefined) {
      this.#prepare(Number(id));
      return;
    }
    switch (method) {
      case "finish_resize":
        if (this.#takeBack(Number(id))) {
          rows.offer("Instance", String(uuid));
          rows.offer("Migration", Number(id));
        }
        break;
      case "build_and_run_instance":
      case "check_can_live_migrate_destination":
      case "check_can_live_migrate_source":
      case "pre_live_migration":
        rows.offer("Instance", String(uuid));
    }
  }

  #takeBack(id: number): boolean {
    const at = this.#prepared.get(id) ?? Number.NEGATIVE_INFINITY;
    this.#prepared.delete(id);
    return this.#now() - at <= PREPARED_TTL_MS;
  }

  #prepare(id: number): void {
    this.#prepared.set(id, this.#now());
    const [oldest] = this.#prepared.keys();
    if (this.#prepared.size > MAX_PREPARED_MOVES && oldest !== undefined) {
      this.#prepared.delete(oldest);
    }
  }
}

/** Fields that senders leave for the receiver's first save. Other unsaved fields are the sender's own. */
const LEFT_TO_SAVE = ["availability_zone", "old_flavor", "new_flavor"];

/** All methods that are served or rejected by name. */
const KNOWN: ReadonlySet<string> = new Set([
  "ping",
  "get_backdoor_port",
  ...Object.keys(SERVED),
  ...Object.keys(UNSERVED),
]);

/** Metric label of all other methods, since arbitrary names would create any number of time series. */
const OTHER = "other";

/** Milliseconds; lower bound for the caller's timeout without a sign of life. */
const SHORTEST_SILENCE = 1_000;

export interface ComputeServerOptions {
  readonly host: string;
  readonly rpc: Rpc;
  readonly scopes: MessageScopes;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "logger">;
  readonly observer: MessageObserver;
  readonly profile: () => ReleaseProfile;
  readonly handlers: Partial<AgentHandlers>;
  readonly records: Omit<InboundTools, "host" | "requestId">;
  /** Converts the result of a handler to Nova's format. */
  readonly result: (method: AgentMethod, value: unknown, request: OsloRequest) => unknown;
}

type AnyHandler = (params: never, context: RequestContext) => Promise<unknown>;

/** Serves a nova-compute's RPC methods, for the conductor, the API and other computes. Messages are acknowledged before. */
export class ComputeServer {
  readonly #options: ComputeServerOptions;
  readonly #recent: RecentIds;
  readonly #trustedMessages: TrustedMessages;

  constructor(options: ComputeServerOptions) {
    this.#options = options;
    this.#recent = new RecentIds(options.runtime.clock);
    this.#trustedMessages = new TrustedMessages(() => options.runtime.clock.monotonic());
    for (const method of [...KNOWN, OTHER]) {
      options.observer.message("in", method, 0);
    }
  }

  /** Returns whether a message can be handled now. A request without a handler waits for the next process of the host. */
  takes(body: string): boolean {
    const { handlers } = this.#options;
    try {
      const request = openMessage(body);
      const method = request.kind === "request" ? handlerOf(request) : null;
      return method === null || handlers[method] !== undefined;
    } catch {
      return true;
    }
  }

  /** Handles a message. @param body unverified content; never makes this throw */
  take(body: string): void {
    const { logger } = this.#options.runtime;
    let request: ReturnType<typeof openMessage>;
    try {
      request = openMessage(body);
    } catch (err) {
      logger.warn("dropping a message that cannot be parsed", { err });
      return;
    }
    if (request.kind === "request" && this.#recent.isNew(request.uniqueId)) {
      this.#options.observer.message("in", KNOWN.has(request.method) ? request.method : OTHER);
      this.#serve(request).catch((err: unknown) =>
        logger.error(`${request.method}: the reply could not be sent`, { err }),
      );
    }
  }

  async #serve(request: OsloRequest): Promise<void> {
    const { host, rpc, scopes, runtime } = this.#options;
    const { method, args, context, reply } = request;
    const logger = runtime.logger.child({ request_id: requestIdOf(context), host });
    const stopSigns = reply === null ? () => {} : this.#giveSigns(reply, logger);
    let outcome: { readonly result: unknown } | { readonly error: unknown };
    try {
      const rows = new MessageRows(args, () => runtime.clock.monotonic());
      this.#trustedMessages.offer(method, args, rows);
      const scope = { context, method, args, unsaved: unsavedOf(args), rows };
      outcome = { result: await scopes.run(scope, () => this.#carryOut(request)) };
    } catch (error) {
      logger.warn(`${method} failed`, { err: error });
      outcome = { error };
    } finally {
      stopSigns();
    }
    if (reply !== null) {
      await rpc.sendReply(reply, outcome);
    }
  }

  async #carryOut(request: OsloRequest): Promise<unknown> {
    const { host, records } = this.#options;
    const { method, args, context } = request;
    if (request.namespace === "baseapi") {
      return baseApi(request);
    }
    this.#assertVersion(request);
    if (Object.hasOwn(UNSERVED, method)) {
      return UNSERVED[method]?.(args);
    }
    const translate = Object.hasOwn(SERVED, method) ? SERVED[method] : undefined;
    if (translate === undefined) {
      throw new NovaRpcError("NoSuchMethod", `Endpoint does not support RPC method ${method}`);
    }
    const inbound = await translate(args, { ...records, host, requestId: requestIdOf(context) });
    let reply: unknown = null;
    for (const each of inbound === null ? [] : [inbound].flat()) {
      reply = await this.#handle(each, request);
    }
    return reply;
  }

  async #handle(inbound: Inbound<AgentMethod>, request: OsloRequest): Promise<unknown> {
    const { handlers, result } = this.#options;
    const handler: AnyHandler | undefined = handlers[inbound.method];
    if (handler === undefined) {
      throw new NovaRpcError("NoSuchMethod", `${request.method} is not served now`);
    }
    const value = await Reflect.apply(handler, handlers, [inbound.params, this.#contextOf(request)]);
    return result(inbound.method, value, request);
  }

  #assertVersion({ version, method, namespace }: OsloRequest): void {
    const [major, minor] = version.split(".").map(Number);
    const { computeRpcMinor } = this.#options.profile();
    if (namespace !== null || major !== 6 || minor === undefined || minor > computeRpcMinor) {
      throw new NovaRpcError(
        "UnsupportedVersion",
        `Endpoint does not support RPC version ${version}. Attempted method: ${method}`,
      );
    }
  }

  #contextOf({ context, method, reply }: OsloRequest): RequestContext {
    // A caller that receives signs of life keeps waiting.
    const waitsOn = reply === null || reply.monitorTimeout !== null;
    const timeout = waitsOn ? Number.POSITIVE_INFINITY : RPC_RESPONSE_TIMEOUT;
    return createRequestContext(method, requestIdOf(context), timeout, this.#options.runtime.clock);
  }

  /** Sends signs of life while a call is pending, twice per interval of the caller's timeout. */
  #giveSigns(reply: ReplyAddress, logger: Logger): () => void {
    const { rpc, runtime } = this.#options;
    const { monitorTimeout } = reply;
    if (monitorTimeout === null) {
      return () => {};
    }
    let cancel = () => {};
    const later = () => {
      cancel = runtime.timers.after(Math.max(monitorTimeout * 1000, SHORTEST_SILENCE) / 2, () => {
        rpc
          .giveSign(reply)
          .catch((err: unknown) =>
            logger.debug("a sign of life could not be sent to the caller of a pending call", { err }),
          );
        later();
      });
    };
    later();
    return () => cancel();
  }
}

/** Returns the agent's method for a request; null if there is none, so that {@link ComputeServer} itself responds. */
function handlerOf({ method, namespace }: OsloRequest): AgentMethod | null {
  if (namespace !== null) {
    return null;
  }
  const name = method === "drop_move_claim_at_destination" ? "migration_ended" : method;
  return Object.hasOwn(AGENT_METHODS, name) ? (name as AgentMethod) : null;
}

function baseApi({ method, args }: OsloRequest): unknown {
  if (method === "ping") {
    return { service: "compute", arg: args.arg ?? null };
  }
  if (method === "get_backdoor_port") {
    return null;
  }
  throw new NovaRpcError("NoSuchMethod", `Endpoint does not support RPC method ${method}`);
}

function unsavedOf({ instance }: Readonly<Record<string, unknown>>): Map<string, ObjectData> {
  if (!isObject(instance)) {
    return new Map();
  }
  const object: NovaObject = objectOf(instance);
  const { "nova_object.data": data, "nova_object.changes": changes = [] } = object;
  const left = LEFT_TO_SAVE.filter((field) => changes.includes(field) && data[field] !== undefined);
  return left.length === 0
    ? new Map()
    : new Map([[String(data.uuid), Object.fromEntries(left.map((field) => [field, data[field]]))]]);
}

function dataOf(object: unknown): Readonly<Record<string, unknown>> {
  const data = isObject(object) ? object["nova_object.data"] : undefined;
  return isObject(data) ? data : {};
}
