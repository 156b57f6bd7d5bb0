import { MessagingTimeout } from "../../conductor-client/errors.js";
import { type MessageObserver, RPC_RESPONSE_TIMEOUT } from "../../conductor-client/port.js";
import { isObject } from "../../runtime/collections.js";
import { type MessageBroker, Unconfirmed, Unroutable, Unsent } from "../../runtime/message-broker.js";
import type { Runtime } from "../../runtime/runtime.js";
import { objectOf } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import { REQUESTS, type Topology } from "../transport/topology.js";
import { failureOf } from "./failures.js";
import { type NovaContext, type OsloRequest, openMessage, type ReplyAddress, seal } from "./oslo-message.js";
import { type CallTimeouts, PendingCall } from "./pending-call.js";

/** Milliseconds until what no queue took is sent again. */
const TRY_AGAIN = 250;
/** Milliseconds that an answer is tried for (`kombu_missing_consumer_retry_timeout`). */
const REPLY_TIMEOUT_MS = 60_000;

/** What answers and signs of life are counted as. */
const REPLY = "reply";

/** What is asked, and of whom. */
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
  /** Seconds of silence after which it is given up, for calls that take long; the other side then gives signs of life. */
  readonly monitor?: number;
  /** It only reads: sent again when the connection was lost. */
  readonly repeatable?: boolean;
  readonly signal?: AbortSignal;
}

export interface RpcOptions {
  readonly broker: MessageBroker;
  readonly topology: Topology;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  /** What the control plane understands, as far as that is known. */
  readonly profile: () => ReleaseProfile;
  /** Nothing is left in the broker when the connection has ended, and nothing made that others use. */
  readonly lookOnly: boolean;
  readonly observer: MessageObserver;
}

/** oslo.messaging's calls, casts and answers over a broker. The one place that publishes. */
export class Rpc {
  readonly #options: RpcOptions;
  readonly #replyQueue: string;
  readonly #pending = new Map<string, PendingCall>();

  constructor(options: RpcOptions) {
    this.#options = options;
    this.#replyQueue = `reply_${this.#id()}`;
  }

  /** Begins to read answers. @throws {RefusedByBroker} */
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
   * Sent until a queue takes it. One whose fate is unknown is sent again only if it reads.
   * @throws {MessagingTimeout} not answered, or not known whether it arrived; and what the other side answers
   */
  async call(request: RpcRequest, limits: CallLimits = {}): Promise<unknown> {
    const { timers, clock } = this.#options.runtime;
    const { timeout = RPC_RESPONSE_TIMEOUT, repeatable = false, signal } = limits;
    const deadline = clock.monotonic() + timeout;
    for (;;) {
      signal?.throwIfAborted();
      const left = deadline - clock.monotonic();
      try {
        return await this.#callOnce(request, { total: timeout, left, silence: silenceOf(limits) }, repeatable, limits);
      } catch (error) {
        const mayRepeat = isNowhere(error) || (error instanceof Unconfirmed && repeatable);
        if (mayRepeat && left > TRY_AGAIN) {
          this.#options.observer.message("retried", labelOf(request));
          await timers.sleep(TRY_AGAIN, signal);
          continue;
        }
        throw isUndelivered(error)
          ? new MessagingTimeout(`${request.method} to ${request.topic}: ${error.message}`)
          : error;
      }
    }
  }

  /**
   * Resolves when a queue has it. A broker that was restarted has a host's queue again only once that host is back.
   * @throws {MessagingTimeout} nobody will get it, or that is not known
   */
  async cast(request: RpcRequest): Promise<void> {
    const { timers, clock } = this.#options.runtime;
    const deadline = clock.monotonic() + RPC_RESPONSE_TIMEOUT;
    for (;;) {
      try {
        await this.#send(REQUESTS, request, null, null);
        return;
      } catch (error) {
        if (isNowhere(error) && clock.monotonic() < deadline) {
          this.#options.observer.message("retried", labelOf(request));
          await timers.sleep(TRY_AGAIN);
          continue;
        }
        throw isUndelivered(error)
          ? new MessagingTimeout(`${request.method} to ${request.topic}: ${error.message}`)
          : error;
      }
    }
  }

  /** To all servers of the topic. Nobody may be there. */
  async fanout(request: RpcRequest): Promise<void> {
    const { broker, topology } = this.#options;
    const exchange = topology.fanout(request.topic);
    await broker.declare(exchange);
    await this.#send(exchange.name, request, null, null).catch((error: unknown) => {
      if (!isUndelivered(error)) {
        throw error;
      }
    });
  }

  /** Answers a call. An answer that nobody takes is tried for a while, and then dropped. */
  async sendReply(
    to: ReplyAddress,
    outcome: { readonly result: unknown } | { readonly error: unknown },
  ): Promise<void> {
    const { observer, runtime } = this.#options;
    const { timers, clock, logger } = runtime;
    const deadline = clock.monotonic() + REPLY_TIMEOUT_MS;
    const failure = "error" in outcome ? failureOf(outcome.error) : null;
    const result = "result" in outcome ? outcome.result : null;
    for (;;) {
      try {
        await this.#reply(to, { result, failure, ending: true });
        return;
      } catch (error) {
        if (!isUndelivered(error)) {
          // It cannot be said in words that the control plane understands.
          await this.#reply(to, { result: null, failure: failureOf(error), ending: true });
          return;
        }
        if (clock.monotonic() >= deadline) {
          logger.warn("the answer to a call was not taken by its caller", { queue: to.queue, err: error });
          return;
        }
        observer.message("retried", REPLY);
        await timers.sleep(TRY_AGAIN);
      }
    }
  }

  /** Tells a caller that its call is under way. One that does not take this does not need it. */
  async giveSign(to: ReplyAddress): Promise<void> {
    await this.#reply(to, { result: null, failure: null, ending: false }).catch((error: unknown) => {
      if (!isUndelivered(error)) {
        throw error;
      }
    });
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
      // The answer may be faster than the broker's confirmation.
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
    // They start at 0, so that the first one shows as a rise.
    observer.message("returned", label, 0);
    observer.message("retried", label, 0);
    try {
      await broker.publish({ exchange, routingKey, body, expiration });
    } catch (error) {
      observer.message("returned", label, error instanceof Unroutable ? 1 : 0);
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
      this.#options.runtime.logger.warn("an answer could not be read", { err });
    }
  }

  /** The broker may have been restarted, and what was asked with it. */
  #repeatReads(): void {
    for (const pending of this.#pending.values()) {
      if (pending.repeatable) {
        pending.fail(new Unconfirmed("the connection was lost before the answer"));
      }
    }
  }

  /** 32 hexadecimal digits. */
  #id(): string {
    return this.#options.runtime.random.uuid().replaceAll("-", "");
  }
}

/** `Instance.save` for a method of an object: by its own name alone, all of them go by two. */
function labelOf({ method, args }: RpcRequest): string {
  const { objname, objmethod, objinst } = args;
  const name = isObject(objinst) ? objectOf(objinst)["nova_object.name"] : objname;
  return name === undefined ? method : `${String(name)}.${String(objmethod)}`;
}

function silenceOf({ monitor }: CallLimits): number | null {
  return monitor === undefined ? null : monitor * 1000;
}

/** Nobody has it. */
function isNowhere(error: unknown): error is Unroutable | Unsent {
  return error instanceof Unroutable || error instanceof Unsent;
}

function isUndelivered(error: unknown): error is Unroutable | Unsent | Unconfirmed {
  return isNowhere(error) || error instanceof Unconfirmed;
}
