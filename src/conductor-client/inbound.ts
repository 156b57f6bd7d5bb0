import { errorMessage } from "../runtime/error-messages.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock } from "../runtime/time.js";
import { ConductorError } from "./errors.js";
import type { Link } from "./link.js";
import { AGENT_METHODS, type AgentMethod } from "./methods/agent.js";
import { type ControlledHost, HOST_ACTIONS, type HostAction, MAX_ANNOUNCED_HOSTS } from "./methods/session.js";
import { type AgentHandlers, createRequestContext, type HostController, type RequestContext } from "./port.js";
import { encodeError, type Meta, type Outcome, type RequestFrame, RPC_CODES } from "./wire.js";

type AnyHandler = (params: never, context: RequestContext) => Promise<unknown>;

/** Number of saved calls below which expired ones are not searched. */
const FEW = 64;

/** The state of one boot of a host. */
interface Inbox {
  handlers: Partial<AgentHandlers> | null;
  /** Number of the last accepted cast; casts arrive in order. */
  taken: number;
  /** Whether later results of its handlers are dropped. */
  ended: boolean;
}

interface Call {
  readonly inbox: Inbox;
  readonly outcome: Promise<Outcome>;
  /** Monotonic time after which the caller no longer waits or retries. */
  readonly deadline: number;
}

/**
 * Dispatches the conductor's messages to the handlers of the host. Each cast and each call is handled once, even if it is
 * delivered repeatedly; a repeated call gets the first result, or waits for it.
 */
export class Inbound {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #inboxes = new Map<string, Inbox>();
  /** Calls by name: pending ones, and those that may be repeated. */
  readonly #calls = new Map<string, Call>();
  /** Number of saved calls at which the expired ones are removed. */
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

  /** Ends the boot that served the host: its results are dropped and its calls forgotten. */
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
      respond({
        error: encodeError(
          new ConductorError("MessagingTimeout", `this agent does not serve host ${host} now`, { host }),
        ),
      });
      return;
    }
    // Looks up known methods only: the name is unverified, and could be that of an inherited property.
    const handler: AnyHandler | undefined = Object.hasOwn(AGENT_METHODS, method)
      ? handlers[method as AgentMethod]
      : undefined;
    if (!handler) {
      respond({ error: { code: RPC_CODES.methodNotFound, message: `this agent has no method ${method}` } });
      return;
    }
    const { requestId = "", timeout = Number.POSITIVE_INFINITY } = meta;
    const context = createRequestContext(method, requestId, timeout, this.#clock);
    const run = () => Reflect.apply(handler, handlers, [request.params, context]);
    if (meta.message === undefined) {
      this.#callOnce(inbox, method, meta, run).then(respond);
      return;
    }
    if (meta.message > inbox.taken) {
      inbox.taken = meta.message;
      this.#call(inbox, method, run);
    }
    // A cast is acknowledged when it is accepted; the agent completes it, even over a restart.
    respond({ result: null });
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

  /**
   * Removes expired calls. Not on every call, since a pool has thousands of calls and the search would dominate its work.
   */
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

/** Timeout of an announcement in milliseconds. */
const TIMEOUT = 8_000;

/** Announces the hosts that can be controlled over a connection, and passes requests to their controller. */
export class OfferedControl {
  readonly #controller: HostController;
  readonly #logger: Logger;
  /** Present state by host name. */
  readonly #hosts = new Map<string, ControlledHost>();
  /** Hosts changed since the last announcement. */
  readonly #changed = new Set<string>();

  constructor(controller: HostController, logger: Logger) {
    this.#controller = controller;
    this.#logger = logger;
  }

  /** Announces a change; changes of one event-loop tick are sent as a batch. @param link absent: sent on the next link */
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

  /** Announces all hosts on a new link. */
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
        throw new ConductorError(
          "InvalidParameters",
          `host ${String(host)} is not controlled by this process, or ${String(action)} is not an action`,
        );
      }
      return { result: await this.#controller.control(String(host), action) };
    } catch (error) {
      const message = errorMessage(error);
      return {
        error: encodeError(error instanceof ConductorError ? error : new ConductorError("ConductorError", message)),
      };
    }
  }

  #send(hosts: readonly ControlledHost[], link: Link | undefined): void {
    for (let from = 0; from < hosts.length; from += MAX_ANNOUNCED_HOSTS) {
      const part = hosts.slice(from, from + MAX_ANNOUNCED_HOSTS);
      // A lost announcement is repeated on the next link; a conductor of an earlier release does not know the method.
      link?.request("hosts_controlled", { hosts: part }, { timeout: TIMEOUT }).catch((err: unknown) => {
        this.#logger.debug("the conductor did not accept the announcement of controlled hosts", { err });
      });
    }
  }
}

function isAction(action: unknown): action is HostAction {
  return (HOST_ACTIONS as readonly unknown[]).includes(action);
}
