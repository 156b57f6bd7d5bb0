import type { Logger } from "../runtime/runtime.js";
import type { Clock } from "../runtime/time.js";
import { ConductorError, InvalidParameters, MessagingTimeout } from "./errors.js";
import type { Link } from "./link.js";
import { AGENT_METHODS, type AgentMethod } from "./methods/agent.js";
import { type ControlledHost, HOST_ACTIONS, type HostAction, MAX_ANNOUNCED_HOSTS } from "./methods/session.js";
import type { AgentHandlers, HostController, RequestContext } from "./port.js";
import { encodeError, type Meta, type Outcome, type RequestFrame, RPC_CODES } from "./wire.js";

type AnyHandler = (params: never, context: RequestContext) => Promise<unknown>;

/** Calls that are kept without a look at whether they are over. */
const FEW = 64;

/** What one boot of a host has taken. */
interface Inbox {
  handlers: Partial<AgentHandlers> | null;
  /** The last cast; they come in order. */
  taken: number;
  /** What its handlers still answer is dropped. */
  ended: boolean;
}

interface Call {
  readonly inbox: Inbox;
  readonly outcome: Promise<Outcome>;
  /** Monotonic; the caller waits no longer, and will not ask again. */
  readonly deadline: number;
}

/**
 * Hands what the conductor asks to the handlers of the host that is meant: casts once, however often they are delivered, and
 * calls once, however often they are asked; a call that is repeated gets the answer of the first time, or waits for it.
 */
export class Inbound {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #inboxes = new Map<string, Inbox>();
  /** By name; those that are under way, and those that may be asked again. */
  readonly #calls = new Map<string, Call>();
  /** So many of them, and those that are over are forgotten. */
  #most = FEW;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  serve(host: string, handlers: Partial<AgentHandlers>): void {
    const inbox = this.#inboxes.get(host);
    if (inbox === undefined) {
      this.#inboxes.set(host, { handlers, taken: 0, ended: false });
    } else {
      inbox.handlers = handlers;
    }
  }

  stop(host: string): void {
    const inbox = this.#inboxes.get(host);
    if (inbox !== undefined) {
      inbox.handlers = null;
    }
  }

  serves(host: string): boolean {
    return (this.#inboxes.get(host)?.handlers ?? null) !== null;
  }

  /** The boot that served the host is at its end: nothing of it is answered or remembered. */
  end(host: string): void {
    const inbox = this.#inboxes.get(host);
    if (inbox === undefined) {
      return;
    }
    inbox.ended = true;
    this.#inboxes.delete(host);
    for (const [name, call] of this.#calls) {
      if (call.inbox === inbox) {
        this.#calls.delete(name);
      }
    }
  }

  take(request: RequestFrame, link: Link): void {
    const { id, method, meta = {} } = request;
    const host = meta.host ?? "";
    const inbox = this.#inboxes.get(host);
    const respond = (outcome: Outcome) => {
      if (id !== undefined && inbox?.ended !== true) {
        link.send({ jsonrpc: "2.0", id, ...outcome });
      }
    };
    const first = meta.call === undefined ? undefined : this.#calls.get(meta.call);
    if (first) {
      first.outcome.then(respond);
      return;
    }
    const handlers = inbox?.handlers ?? null;
    if (inbox === undefined || handlers === null) {
      respond({ error: encodeError(new MessagingTimeout(`this agent does not serve host ${host} now`, { host })) });
      return;
    }
    // Known ones only: the method is what somebody sent, and may be the name of what every object has.
    const handler: AnyHandler | undefined = Object.hasOwn(AGENT_METHODS, method)
      ? handlers[method as AgentMethod]
      : undefined;
    if (!handler) {
      respond({ error: { code: RPC_CODES.methodNotFound, message: `this agent knows no method ${method}` } });
      return;
    }
    const context = this.#contextOf(method, meta);
    const run = () => Reflect.apply(handler, handlers, [request.params, context]);
    if (meta.message === undefined) {
      this.#callOnce(inbox, method, meta, run).then(respond);
      return;
    }
    if (meta.message > inbox.taken) {
      inbox.taken = meta.message;
      this.#call(inbox, method, run);
    }
    // A cast is acknowledged when it is taken; the agent finishes it, also over a restart.
    respond({ result: null });
  }

  #contextOf(method: string, { requestId = "", timeout }: Meta): RequestContext {
    const deadline = timeout === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + timeout;
    return {
      requestId,
      assertCallerWaiting: () => {
        if (this.#clock.monotonic() >= deadline) {
          throw new MessagingTimeout(`whoever asked to ${method} has given up waiting: nothing is done`, { method });
        }
      },
    };
  }

  #callOnce(inbox: Inbox, method: string, { call, timeout = 0 }: Meta, run: () => Promise<unknown>): Promise<Outcome> {
    const now = this.#clock.monotonic();
    if (this.#calls.size >= this.#most) {
      this.#forget(now);
    }
    const outcome = this.#call(inbox, method, run);
    if (call !== undefined) {
      this.#calls.set(call, { inbox, outcome, deadline: now + timeout });
    }
    return outcome;
  }

  /** Calls that nobody will ask again. A pool has thousands, and to look through them at each call would be most of its work. */
  #forget(now: number): void {
    for (const [name, { deadline }] of this.#calls) {
      if (deadline <= now) {
        this.#calls.delete(name);
      }
    }
    this.#most = Math.max(FEW, 2 * this.#calls.size);
  }

  async #call(inbox: Inbox, method: string, run: () => Promise<unknown>): Promise<Outcome> {
    try {
      return { result: (await run()) ?? null };
    } catch (err) {
      if (!inbox.ended) {
        this.#logger.warn(`${method} failed`, { err });
      }
      return { error: encodeError(err) };
    }
  }
}

/** Milliseconds that an announcement may take. */
const TIMEOUT = 8_000;

/** Announces which hosts can be controlled over a connection, and hands what is asked to who controls them. */
export class OfferedControl {
  readonly #controller: HostController;
  readonly #logger: Logger;
  /** By name, as they are now. */
  readonly #hosts = new Map<string, ControlledHost>();
  /** Changed since the last announcement. */
  readonly #changed = new Set<string>();

  constructor(controller: HostController, logger: Logger) {
    this.#controller = controller;
    this.#logger = logger;
  }

  /** Notes a change; many of one turn are told together. @param link absent: it is told on the next one */
  notify(host: ControlledHost, link: Link | undefined): void {
    this.#hosts.set(host.host, host);
    const first = this.#changed.size === 0;
    this.#changed.add(host.host);
    if (first) {
      void Promise.resolve().then(() => {
        const hosts = [...this.#changed].flatMap((name) => this.#hosts.get(name) ?? []);
        this.#changed.clear();
        this.#send(hosts, link);
      });
    }
  }

  /** Tells all of them on a new link. */
  announce(link: Link): void {
    this.#send([...this.#hosts.values()], link);
  }

  async take({ id, params = {} }: RequestFrame, link: Link): Promise<void> {
    const outcome = await this.#outcome(params);
    if (id !== undefined && link.open) {
      link.send({ jsonrpc: "2.0", id, ...outcome });
    }
  }

  async #outcome({ host, action }: Readonly<Record<string, unknown>>): Promise<Outcome> {
    try {
      if (!this.#hosts.has(String(host)) || !isAction(action)) {
        throw new InvalidParameters(`found host ${String(host)} and action ${String(action)}, which are not offered`);
      }
      return { result: await this.#controller.control(String(host), action) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { error: encodeError(error instanceof ConductorError ? error : new ConductorError(message)) };
    }
  }

  #send(hosts: readonly ControlledHost[], link: Link | undefined): void {
    for (let from = 0; from < hosts.length; from += MAX_ANNOUNCED_HOSTS) {
      const part = hosts.slice(from, from + MAX_ANNOUNCED_HOSTS);
      // One without an answer is made again on the next link; a conductor of an earlier release knows of no such thing.
      link?.request("hosts_controlled", { hosts: part }, { timeout: TIMEOUT }).catch((err: unknown) => {
        this.#logger.debug("what hosts can be controlled was not taken", { err });
      });
    }
  }
}

function isAction(action: unknown): action is HostAction {
  return (HOST_ACTIONS as readonly unknown[]).includes(action);
}
