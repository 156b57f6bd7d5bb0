import { ConductorError, OverLimit, UnsupportedProtocol } from "../../conductor-client/errors.js";
import { CONDUCTOR_METHODS } from "../../conductor-client/methods/conductor.js";
import type {
  MethodKind,
  MethodsOf,
  ParamsOf,
  RemoteMethods,
  ResultOf,
} from "../../conductor-client/methods/method.js";
import { SESSION_METHODS } from "../../conductor-client/methods/session.js";
import { encodeError, type Outcome, type ResponseFrame, RPC_CODES, type RpcId } from "../../conductor-client/wire.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Store } from "../store/store.js";
import type { HostLeases } from "./host-leases.js";
import { MethodChecks } from "./method-checks.js";
import { respond, type Session, type ValidRequest } from "./session.js";

/** The caller of a method, and its request. */
export interface Caller {
  readonly session: Session;
  /** The host for which the caller speaks. */
  readonly host: string | undefined;
  /** One life of that host: its own boot, or else the connection's. */
  readonly bootId: string;
  readonly requestId: string;
  /** Does not take part in host leases (quirk `no-host-lease`). */
  readonly unfenced: boolean;
  /** The name of a call that is repeated until it is answered, the same each time. */
  readonly call?: string;
  /** Milliseconds that the caller still waits for the answer, if it said so. */
  readonly timeout?: number;
}

/** What is still under way when its handler returns. */
type Lasting = "waits" | "asks";

/** What carries out the methods of a table. A handler of one that writes is synchronous: it runs in a transaction. */
export type HandlersOf<T extends RemoteMethods> = {
  readonly [M in keyof T]: (
    params: ParamsOf<MethodsOf<T>, M>,
    caller: Caller,
  ) => MethodResult<T[M]["kind"], ResultOf<MethodsOf<T>, M>>;
};

type MethodResult<K extends MethodKind, R> = K extends Lasting ? Promise<R> : R;

/** What agents may ask on their connections. */
const METHODS = { ...CONDUCTOR_METHODS, ...SESSION_METHODS };

/** Shared by every conductor of the process, so that each schema is compiled once. */
const CHECKS = new MethodChecks(METHODS);

type KnownMethod = keyof typeof METHODS;

type AnyHandler = (params: never, caller: Caller) => unknown;

export interface DispatcherDeps {
  readonly store: Store;
  readonly leases: HostLeases;
  readonly random: Random;
  readonly logger: Logger;
  readonly methods: HandlersOf<typeof METHODS>;
}

/** Carries out requests: refuses what is not understood, and does what is asked once. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  /** Calls of other agents that wait for their answers, by name. */
  readonly #pendingCalls = new Map<string, Promise<Outcome>>();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** @returns the response, without a promise where nothing has to be waited for; undefined for a notification. */
  dispatch(session: Session, request: ValidRequest): ResponseFrame | undefined | Promise<ResponseFrame | undefined> {
    const outcome = this.#outcome(session, request);
    const { id } = request;
    if (outcome instanceof Promise) {
      return outcome.then((settled) => (id === undefined ? undefined : respond(id, settled)));
    }
    return id === undefined ? undefined : respond(id, outcome);
  }

  #outcome(session: Session, request: ValidRequest): Outcome | Promise<Outcome> {
    const { id, method, params, meta } = request;
    try {
      if (!isKnown(method)) {
        return { error: { code: RPC_CODES.methodNotFound, message: `unknown method ${method.slice(0, 100)}` } };
      }
      if (!session.identity && method !== "session_hello") {
        throw new UnsupportedProtocol("the first message of a connection must be session_hello");
      }
      CHECKS.checkParams(method, params);
      const requestId = meta.requestId ?? `req-${this.#deps.random.uuid()}`;
      const unfenced = meta.unfenced ?? false;
      const bootId = meta.boot ?? connectionBootOf(session);
      const caller: Caller = { session, host: meta.host, bootId, requestId, unfenced };
      const handler: AnyHandler = this.#deps.methods[method];
      const { ack } = meta;
      if (method === "session_ping") {
        this.#forget(session, ack);
      }
      switch (METHODS[method].kind) {
        case "writes":
          return this.#once(handler, params, caller, { id, ack });
        case "reads":
        case "sets":
          return { result: handler(params as never, caller) ?? null };
        case "waits":
          return this.#wait(handler, params, caller, method);
        case "asks": {
          this.#forget(session, ack);
          const { timeout } = meta;
          const asking = timeout === undefined ? caller : { ...caller, timeout };
          return this.#askOnce(handler, params, asking, { id, method });
        }
      }
    } catch (error) {
      return this.#failed(error, method);
    }
  }

  /** Stores effect and answer of a write together, so that a repeated call is answered and not carried out again. */
  #once(
    handler: AnyHandler,
    params: object,
    caller: Caller,
    { id, ack }: { readonly id: RpcId | undefined; readonly ack: number | undefined },
  ): Outcome {
    const { store } = this.#deps;
    // The connection counts its calls, whichever of its hosts they are for.
    const bootId = connectionBootOf(caller.session);
    const repeatable = isRepeatable(id);
    if (id !== undefined && !repeatable) {
      return NEEDS_A_NUMBER;
    }
    return store.batch(() => {
      const known = repeatable ? store.messages.findReply(bootId, id) : null;
      if (known !== null) {
        return JSON.parse(known) as Outcome;
      }
      this.#assertHolder(caller);
      this.#forget(caller.session, ack);
      const outcome = this.#attempt(() => handler(params as never, caller));
      if (repeatable) {
        store.messages.recordReply(bootId, id, JSON.stringify(outcome));
      }
      return outcome;
    });
  }

  /**
   * Asks another agent. A call that is repeated while the first waits for the answer waits with it; one that is repeated later
   * gets that answer, which is stored until the caller has seen it.
   */
  #askOnce(
    handler: AnyHandler,
    params: object,
    caller: Caller,
    { id, method }: { readonly id: RpcId | undefined; readonly method: string },
  ): Outcome | Promise<Outcome> {
    if (!isRepeatable(id)) {
      return NEEDS_A_NUMBER;
    }
    const { messages } = this.#deps.store;
    const bootId = connectionBootOf(caller.session);
    const call = `${bootId}:${id}`;
    const known = messages.findReply(bootId, id);
    if (known !== null) {
      return JSON.parse(known) as Outcome;
    }
    const underWay = this.#pendingCalls.get(call);
    if (underWay) {
      return underWay;
    }
    this.#assertHolder(caller);
    const pendingCall = this.#wait(handler, params, { ...caller, call }, method)
      .then((outcome) => {
        messages.recordReply(bootId, id, JSON.stringify(outcome));
        return outcome;
      })
      .finally(() => this.#pendingCalls.delete(call));
    this.#pendingCalls.set(call, pendingCall);
    return pendingCall;
  }

  /** @throws {HostLeaseHeld} the caller speaks for a host that another boot holds, or whose boot was killed. */
  #assertHolder(caller: Caller): void {
    if (caller.host !== undefined && !caller.unfenced) {
      this.#deps.leases.assertHolder(caller.host, caller.bootId);
    }
  }

  /** An error of the application is an answer like any other; one of the store undoes everything and is recorded nowhere. */
  #attempt(work: () => unknown): Outcome {
    try {
      return { result: this.#deps.store.transaction(work) ?? null };
    } catch (error) {
      if (error instanceof ConductorError) {
        return { error: encodeError(error) };
      }
      throw error;
    }
  }

  async #wait(handler: AnyHandler, params: object, caller: Caller, method: string): Promise<Outcome> {
    const { session } = caller;
    if (session.overLimit) {
      return { error: encodeError(new OverLimit("too many calls of this connection are under way; wait for some")) };
    }
    session.underWay += 1;
    try {
      return { result: (await handler(params as never, caller)) ?? null };
    } catch (error) {
      return this.#failed(error, method);
    } finally {
      session.underWay -= 1;
    }
  }

  /** The agent has seen the answers of its calls up to `ack`. */
  #forget(session: Session, ack: number | undefined): void {
    const bootId = session.identity?.bootId;
    if (bootId !== undefined && ack !== undefined && ack > session.acknowledged) {
      session.acknowledged = ack;
      this.#deps.store.messages.forgetReplies(bootId, ack);
    }
  }

  #failed(error: unknown, method: string): Outcome {
    if (!(error instanceof ConductorError)) {
      this.#deps.logger.error("a call failed unexpectedly", { err: error, method });
    }
    return { error: encodeError(error) };
  }
}

/** What it does with records, if that is all that it does: such a method may be carried out within the transaction of others. */
export function useOfRecords(method: string): "reads" | "writes" | "none" {
  // A lease is a record; that it is held is known when it is answered.
  const kind = method === "host_lease" ? "writes" : isKnown(method) ? METHODS[method].kind : "none";
  return kind === "reads" || kind === "writes" ? kind : "none";
}

function isKnown(method: string): method is KnownMethod {
  return Object.hasOwn(METHODS, method);
}

const NEEDS_A_NUMBER: Outcome = {
  error: {
    code: RPC_CODES.invalidRequest,
    message: "a method that writes or asks an agent needs a whole number as id, never used before by the same boot",
  },
};

/** Only a number that no other call of the same boot has tells a repeated call from a new one. */
function isRepeatable(id: RpcId | undefined): id is number {
  return typeof id === "number" && Number.isSafeInteger(id) && id >= 0;
}

function connectionBootOf(session: Session): string {
  return session.identity?.bootId ?? "";
}

/** Errors of the supervisor keep their text on the wire. */
export async function forwardErrorText<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConductorError) {
      throw error;
    }
    throw new ConductorError(error instanceof Error ? error.message : String(error));
  }
}
