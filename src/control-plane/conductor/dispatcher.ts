import { ConductorError } from "../../conductor-client/errors.js";
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
import { messageOf } from "../../runtime/error-messages.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Store } from "../store/store.js";
import type { HostLeases } from "./host-leases.js";
import { MethodChecks } from "./method-checks.js";
import { respond, type Session, type ValidRequest } from "./session.js";

/** The caller of a method and its request. */
export interface Caller {
  readonly session: Session;
  /** The host on whose behalf the caller acts. */
  readonly host: string | undefined;
  /** One run of the host's agent: the host's own boot id, or the connection's. */
  readonly bootId: string;
  readonly requestId: string;
  /** Exempt from host leases (quirk `no-host-lease`). */
  readonly unfenced: boolean;
  /** The name of a call, which stays the same when the call is repeated. */
  readonly call?: string;
  /** Remaining milliseconds of the caller's timeout, if it sent one. */
  readonly timeout?: number;
}

/** Kinds of methods whose handlers return a promise. */
type Lasting = "waits" | "asks";

/** The handlers of a method table. Handlers of writes are synchronous, since they run in a transaction. */
export type HandlersOf<T extends RemoteMethods> = {
  readonly [M in keyof T]: (
    params: ParamsOf<MethodsOf<T>, M>,
    caller: Caller,
  ) => MethodResult<T[M]["kind"], ResultOf<MethodsOf<T>, M>>;
};

type MethodResult<K extends MethodKind, R> = K extends Lasting ? Promise<R> : R;

/** Methods that agents can call. */
const METHODS = { ...CONDUCTOR_METHODS, ...SESSION_METHODS };

/** Shared by all conductors of the process, so that each schema is compiled once. */
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

/** Handles requests: rejects invalid ones, and executes each valid one exactly once. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  /** Pending calls to other agents by name. */
  readonly #pendingCalls = new Map<string, Promise<Outcome>>();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Handles a request. @returns the response, synchronously where possible; undefined for a notification */
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
        throw new ConductorError("UnsupportedProtocol", "the first message of a connection must be session_hello");
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

  /** Stores a write's effect and reply in one transaction, so that a repeated call gets the reply and is not executed again. */
  #once(
    handler: AnyHandler,
    params: object,
    caller: Caller,
    { id, ack }: { readonly id: RpcId | undefined; readonly ack: number | undefined },
  ): Outcome {
    const { store } = this.#deps;
    // Calls are numbered per connection, for all of its hosts.
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
   * Calls another agent. A call that is repeated meanwhile shares the pending result. One that is repeated later gets the
   * stored result, which is deleted when the caller acknowledges it.
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

  /** @throws {HostLeaseHeld} if another boot has the host's lease, or the caller's boot was killed */
  #assertHolder(caller: Caller): void {
    if (caller.host !== undefined && !caller.unfenced) {
      this.#deps.leases.assertHolder(caller.host, caller.bootId);
    }
  }

  /** Runs a write in a transaction. Application errors become the response; other errors roll back and are not stored. */
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
      return {
        error: encodeError(
          new ConductorError("OverLimit", "too many calls of this connection are pending; wait for responses"),
        ),
      };
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

  /** Deletes stored replies up to `ack`, which the agent has received. */
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

/** Returns how a method uses records. Methods that only read or write them can share a transaction with others. */
export function useOfRecords(method: string): "reads" | "writes" | "none" {
  // A lease is a record: it is acquired before the response is sent.
  const kind = method === "host_lease" ? "writes" : isKnown(method) ? METHODS[method].kind : "none";
  return kind === "reads" || kind === "writes" ? kind : "none";
}

function isKnown(method: string): method is KnownMethod {
  return Object.hasOwn(METHODS, method);
}

const NEEDS_A_NUMBER: Outcome = {
  error: {
    code: RPC_CODES.invalidRequest,
    message: "a method that writes or calls an agent needs an integer id that the same boot has not used before",
  },
};

/** Returns true if the id identifies a repeated call: a number that is unique per boot. */
function isRepeatable(id: RpcId | undefined): id is number {
  return typeof id === "number" && Number.isSafeInteger(id) && id >= 0;
}

function connectionBootOf(session: Session): string {
  return session.identity?.bootId ?? "";
}

/** Makes the supervisor's error messages visible to the caller. */
export async function forwardErrorText<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConductorError) {
      throw error;
    }
    throw new ConductorError("ConductorError", messageOf(error));
  }
}
