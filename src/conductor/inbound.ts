import type { Logger } from "../runtime/logger.js";
import type { AgentMethod } from "./agent-methods.js";
import { MessagingTimeout } from "./errors.js";
import type { Link } from "./link.js";
import type { AgentHandlers } from "./port.js";
import { encodeError } from "./wire/error-codec.js";
import { type Outcome, type RequestFrame, RPC_CODES } from "./wire/frames.js";

type AnyHandler = (params: never, context: { readonly requestId: string }) => Promise<unknown>;

/** Hands what the conductor asks to the handlers of the host that is meant; casts once, however often they are delivered. */
export class Inbound {
  readonly #logger: Logger;
  readonly #handlers = new Map<string, Partial<AgentHandlers>>();
  /** The last cast of each host that was taken; they come in order. */
  readonly #taken = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  serve(host: string, handlers: Partial<AgentHandlers>): void {
    this.#handlers.set(host, handlers);
  }

  stop(host: string): void {
    this.#handlers.delete(host);
  }

  serves(host: string): boolean {
    return this.#handlers.has(host);
  }

  take(request: RequestFrame, link: Link): void {
    const { id, method, meta = {} } = request;
    const answer = (outcome: Outcome) => {
      if (id !== undefined) {
        link.send({ jsonrpc: "2.0", id, ...outcome });
      }
    };
    const host = meta.host ?? "";
    const handlers = this.#handlers.get(host);
    if (!handlers) {
      answer({ error: encodeError(new MessagingTimeout(`this agent does not serve host ${host} now`, { host })) });
      return;
    }
    const handler = new Map<string, AnyHandler>(Object.entries(handlers)).get(method as AgentMethod);
    if (!handler) {
      answer({ error: { code: RPC_CODES.methodNotFound, message: `this agent knows no method ${method}` } });
      return;
    }
    const run = () => handler(request.params as never, { requestId: meta.requestId ?? "" });
    if (meta.message === undefined) {
      this.#call(method, run).then(answer);
      return;
    }
    if (meta.message > (this.#taken.get(host) ?? 0)) {
      this.#taken.set(host, meta.message);
      this.#call(method, run);
    }
    // Acknowledged when it was taken; what becomes of it is the agent's, also over a restart.
    answer({ result: null });
  }

  async #call(method: string, run: () => Promise<unknown>): Promise<Outcome> {
    try {
      return { result: (await run()) ?? null };
    } catch (err) {
      this.#logger.warn(`${method} failed`, { err });
      return { error: encodeError(err) };
    }
  }
}
