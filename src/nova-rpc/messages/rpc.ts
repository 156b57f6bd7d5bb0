import { ConductorError } from "../../conductor-client/errors.js";
import { type MessageObserver, RPC_RESPONSE_TIMEOUT } from "../../conductor-client/port.js";
import { isObject } from "../../runtime/collections.js";
import { DeliveryError, type MessageBroker } from "../../runtime/message-broker.js";
import type { Runtime } from "../../runtime/runtime.js";
import { objectOf } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import { REQUESTS, type Topology } from "../transport/topology.js";
import { failureOf } from "./failures.js";
import { type NovaContext, type OsloRequest, openMessage, type ReplyAddress, seal } from "./oslo-message.js";
import { type CallTimeouts, PendingCall } from "./pending-call.js";

/** Milliseconds until an unroutable message is sent again. */
const TRY_AGAIN = 250;
/** Milliseconds during which a reply is retried (`kombu_missing_consumer_retry_timeout`). */
const REPLY_TIMEOUT_MS = 60_000;

/** Metric label of replies and signs of life. */
const REPLY = "reply";

/** A request and its recipient. */
export interface RpcRequest {
  /** `conductor`, `compute.host`. */
  readonly topic: string;
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly version: string;
  readonly namespace?: string;
  readonly context: NovaContext;
}

export interface CallLimits {
  /** Milliseconds; default {@link RPC_RESPONSE_TIMEOUT}. */
  readonly timeout?: number;
  /** Maximum seconds of silence, for long calls; the recipient then sends signs of life. */
  readonly monitor?: number;
  /** Whether the call is read-only, so that it is repeated after a lost connection. */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal;
}

export interface RpcOptions {
  readonly broker: MessageBroker;
  readonly topology: Topology;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  /** The release of the control plane, as far as known. */
  readonly profile: () => ReleaseProfile;
  /** If set, the connection leaves nothing in the broker, and creates nothing that others use. */
  readonly lookOnly: boolean;
  readonly observer: MessageObserver;
}

/** Calls, casts and replies of oslo.messaging over a broker. All publishing happens here. */
export class Rpc {
  readonly #options: RpcOptions;
  readonly #replyQueue: string;
  readonly #pending = new Map<string, PendingCall>();

  constructor(options: RpcOptions) {
    this.#options = options;
    this.#replyQueue = `reply_${this.#id()}`;
  }

  /** Starts to consume replies. @throws {BrokerRejectedError} */
  async start(): Promise<void> {
    const { broker, topology, lookOnly } = this.#options;
    await broker.connected();
    const replies = topology.replies(this.#replyQueue, { lasting: !lookOnly });
    await broker.consume(replies, { message: (body) => this.#take(body) });
    if (!lookOnly) {
      await broker.declare(topology.requests());
    }
    broker.onState((state) => {
      if (state === "connected") {
        this.#repeatReads();
      }
    });
  }

  /**
   * Calls a method; retries until a queue accepts the request. A request with an unknown outcome is repeated only if it is
   * read-only.
   * @throws {MessagingTimeout} no reply, or an unknown delivery; and errors of the recipient
   */
  async call(request: RpcRequest, limits: CallLimits = {}): Promise<unknown> {
    const { clock } = this.#options.runtime;
    const { timeout = RPC_RESPONSE_TIMEOUT, repeatable = false, signal } = limits;
    const deadline = clock.monotonic() + timeout;
    let left = timeout;
    const attempt = () => {
      signal?.throwIfAborted();
      left = deadline - clock.monotonic();
      return this.#callOnce(request, { total: timeout, left, silence: silenceOf(limits) }, repeatable, limits);
    };
    const mayRepeat = (error: unknown) =>
      left > TRY_AGAIN && (isNowhere(error) || (repeatable && error instanceof DeliveryError));
    return this.#retry(labelOf(request), attempt, mayRepeat, signal).catch((error) =>
      rejectUndelivered(request, error),
    );
  }

  /**
   * Casts a request; resolves when a queue has accepted it. After a restart of the broker, a host's queue exists again only
   * when that host has reconnected.
   * @throws {MessagingTimeout} the request cannot be delivered, or its delivery is unknown
   */
  async cast(request: RpcRequest): Promise<void> {
    const { clock } = this.#options.runtime;
    const deadline = clock.monotonic() + RPC_RESPONSE_TIMEOUT;
    const attempt = () => this.#send(REQUESTS, request, null, null);
    const mayRepeat = (error: unknown) => isNowhere(error) && clock.monotonic() < deadline;
    await this.#retry(labelOf(request), attempt, mayRepeat).catch((error) => rejectUndelivered(request, error));
  }

  /** Repeats an attempt to deliver a message as long as its error permits. */
  async #retry<T>(
    label: string,
    attempt: () => Promise<T>,
    mayRepeat: (error: unknown) => boolean,
    signal?: AbortSignal,
  ): Promise<T> {
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!mayRepeat(error)) {
          throw error;
        }
        this.#options.observer.message("retried", label);
        await this.#options.runtime.timers.sleep(TRY_AGAIN, signal);
      }
    }
  }

  /** Sends a request to all servers of the topic, if any. */
  async fanout(request: RpcRequest): Promise<void> {
    const { broker, topology } = this.#options;
    const exchange = topology.fanout(request.topic);
    await broker.declare(exchange);
    await this.#send(exchange.name, request, null, null).catch(ignoreUndelivered);
  }

  /** Replies to a call. A reply without a consumer is retried for a while, and then dropped. */
  async sendReply(
    to: ReplyAddress,
    outcome: { readonly result: unknown } | { readonly error: unknown },
  ): Promise<void> {
    const { clock, logger } = this.#options.runtime;
    const deadline = clock.monotonic() + REPLY_TIMEOUT_MS;
    const failure = "error" in outcome ? failureOf(outcome.error) : null;
    const result = "result" in outcome ? outcome.result : null;
    const attempt = () => this.#reply(to, { result, failure, ending: true });
    try {
      await this.#retry(REPLY, attempt, (error) => error instanceof DeliveryError && clock.monotonic() < deadline);
    } catch (error) {
      if (error instanceof DeliveryError) {
        logger.warn("dropping the reply to a call, which its caller does not receive", { queue: to.queue, err: error });
      } else {
        // The result cannot be expressed at the control plane's version.
        await this.#reply(to, { result: null, failure: failureOf(error), ending: true });
      }
    }
  }

  /** Sends a sign of life for a pending call. Undeliverable ones are ignored. */
  async giveSign(to: ReplyAddress): Promise<void> {
    await this.#reply(to, { result: null, failure: null, ending: false }).catch(ignoreUndelivered);
  }

  async #callOnce(
    request: RpcRequest,
    timeouts: CallTimeouts,
    repeatable: boolean,
    { monitor, signal }: CallLimits,
  ): Promise<unknown> {
    const messageId = this.#id();
    const pending = new PendingCall(
      `${request.method} to ${request.topic}`,
      timeouts,
      repeatable,
      this.#options.runtime.timers,
    );
    const abort = () => pending.fail(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
    signal?.addEventListener("abort", abort, { once: true });
    this.#pending.set(messageId, pending);
    const { observer } = this.#options;
    observer.waitedFor(labelOf(request), 1);
    try {
      const replyTo = { messageId, queue: this.#replyQueue, monitorTimeout: monitor ?? null };
      // The reply may arrive before the broker's confirmation.
      await Promise.race([pending.reply, this.#send(REQUESTS, request, replyTo, timeouts.left)]);
      return await pending.reply;
    } catch (error) {
      pending.fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    } finally {
      this.#pending.delete(messageId);
      observer.waitedFor(labelOf(request), -1);
      signal?.removeEventListener("abort", abort);
    }
  }

  async #send(
    exchange: string,
    request: RpcRequest,
    replyTo: ReplyAddress | null,
    expiration: number | null,
  ): Promise<void> {
    const message = { label: labelOf(request), content: this.#request(request, replyTo) };
    await this.#publish(exchange, request.topic, message, expiration);
  }

  #request({ method, args, version, namespace, context }: RpcRequest, replyTo: ReplyAddress | null): OsloRequest {
    const uniqueId = this.#id();
    return { kind: "request", method, args, version, namespace: namespace ?? null, context, reply: replyTo, uniqueId };
  }

  async #reply(
    { messageId, queue }: ReplyAddress,
    content: { readonly result: unknown; readonly failure: string | null; readonly ending: boolean },
  ): Promise<void> {
    const reply = { kind: "reply", messageId, uniqueId: this.#id(), ...content } as const;
    await this.#publish("", queue, { label: REPLY, content: reply }, null);
  }

  async #publish(
    exchange: string,
    routingKey: string,
    { label, content }: { readonly label: string; readonly content: Parameters<typeof seal>[0] },
    expiration: number | null,
  ): Promise<void> {
    const { broker, profile, observer } = this.#options;
    const body = seal(content, profile());
    observer.message("out", label);
    // Counters start at 0, so that the first increment is visible as a rate.
    observer.message("returned", label, 0);
    observer.message("retried", label, 0);
    try {
      await broker.publish({ exchange, routingKey, body, expiration });
    } catch (error) {
      observer.message("returned", label, error instanceof DeliveryError && error.code === "unroutable" ? 1 : 0);
      throw error;
    }
  }

  #take(body: string): void {
    try {
      const message = openMessage(body);
      if (message.kind === "reply") {
        this.#options.observer.message("in", REPLY);
        this.#pending.get(message.messageId)?.take(message);
      }
    } catch (err) {
      this.#options.runtime.logger.warn("dropping a reply that cannot be parsed", { err });
    }
  }

  /** Repeats pending reads: the broker may have been restarted, and the requests lost. */
  #repeatReads(): void {
    for (const pending of this.#pending.values()) {
      if (pending.repeatable) {
        pending.fail(new DeliveryError("unconfirmed", "the connection was lost before the reply"));
      }
    }
  }

  /** Returns 32 hexadecimal digits. */
  #id(): string {
    return this.#options.runtime.random.uuid().replaceAll("-", "");
  }
}

/** Returns, for example, `Instance.save` for an object's method, since all of these share two RPC methods. */
function labelOf({ method, args }: RpcRequest): string {
  const { objname, objmethod, objinst } = args;
  const name = isObject(objinst) ? objectOf(objinst)["nova_object.name"] : objname;
  return name === undefined ? method : `${String(name)}.${String(objmethod)}`;
}

function silenceOf({ monitor }: CallLimits): number | null {
  return monitor === undefined ? null : monitor * 1000;
}

/** Whether the message has certainly not been delivered. */
function isNowhere(error: unknown): error is DeliveryError {
  return error instanceof DeliveryError && error.code !== "unconfirmed";
}

function ignoreUndelivered(error: unknown): void {
  if (!(error instanceof DeliveryError)) {
    throw error;
  }
}

/** @throws {MessagingTimeout} for an undelivered request; otherwise the error itself */
function rejectUndelivered({ method, topic }: RpcRequest, error: unknown): never {
  throw error instanceof DeliveryError
    ? new ConductorError("MessagingTimeout", `${method} to ${topic}: ${error.message}`)
    : error;
}
