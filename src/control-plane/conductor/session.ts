import { type ConductorError, MessagingTimeout } from "../../conductor-client/errors.js";
import { decodeError, encodeError } from "../../conductor-client/wire/error-codec.js";
import type { Meta, Outcome, ResponseFrame, RpcId } from "../../conductor-client/wire/frames.js";
import type { Clock } from "../../runtime/clock.js";
import type { Socket } from "../../runtime/socket.js";
import type { CancelTimer, Timers } from "../../runtime/timers.js";

export interface SessionLimits {
  /** Bytes that may wait for a client which does not read; with more, its connection is cut. */
  readonly bufferedBytes: number;
  /** Calls of one connection that may be under way. */
  readonly callsUnderWay: number;
}

/** An agent process, as it introduced itself. */
export interface AgentIdentity {
  readonly bootId: string;
  readonly pid: number;
  readonly machine: string;
  readonly version: string;
}

interface Question {
  /** The host that is asked, if it is one. */
  readonly host: string | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly cancel: CancelTimer;
}

/** One connection of an agent process: what goes out, what is awaited, and when it was last heard of. */
export class Session {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #limits: SessionLimits;
  /** Where the client found the control plane: `https://host:port`. */
  readonly origin: string;
  readonly #questions = new Map<RpcId, Question>();
  /** Monotonic. */
  readonly connectedAt: number;
  #lastFrameAt: number;
  #lastId = 0;
  #closed = false;
  #identity: AgentIdentity | undefined;
  /** Answers up to this call of the agent have been forgotten. */
  acknowledged = -1;
  /** Calls that are being carried out. */
  underWay = 0;

  constructor(
    socket: Socket,
    deps: { readonly clock: Clock; readonly timers: Timers; readonly limits: SessionLimits },
    origin: string,
  ) {
    this.origin = origin;
    this.#socket = socket;
    this.#clock = deps.clock;
    this.#timers = deps.timers;
    this.#limits = deps.limits;
    this.connectedAt = deps.clock.monotonic();
    this.#lastFrameAt = this.connectedAt;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Monotonic time of the last frame. */
  get lastFrameAt(): number {
    return this.#lastFrameAt;
  }

  get identity(): AgentIdentity | undefined {
    return this.#identity;
  }

  get overLimit(): boolean {
    return this.underWay >= this.#limits.callsUnderWay;
  }

  recordFrame(): void {
    this.#lastFrameAt = this.#clock.monotonic();
  }

  introduce(identity: AgentIdentity): void {
    this.#identity = identity;
  }

  /** Sends a message. Cuts the connection of a client that does not read what it is sent. */
  send(message: unknown): void {
    if (this.#closed) {
      return;
    }
    this.#socket.send(textOf(message));
    if (this.#socket.bufferedBytes > this.#limits.bufferedBytes) {
      this.#socket.terminate();
    }
  }

  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  /**
   * Asks the agent, and waits for `meta.timeout` ms; for ever when there is none.
   * @throws {MessagingTimeout} no answer in time, or the connection ended.
   */
  ask(method: string, question: { readonly params: unknown; readonly meta: Meta }): Promise<unknown> {
    const { params, meta } = question;
    const { timeout } = meta;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(connectionEnded(method, meta));
        return;
      }
      const expire = () => {
        this.#questions.delete(id);
        reject(new MessagingTimeout(`${meta.host} did not answer ${method} within ${timeout} ms`, { ...meta }));
      };
      const cancel = timeout === undefined ? () => {} : this.#timers.after(timeout, expire);
      const fail = (error: Error) => reject(error);
      this.#questions.set(id, { host: meta.host, resolve, reject: fail, cancel });
      this.send({ jsonrpc: "2.0", id, method, params, meta });
    });
  }

  /** Hands the agent's answer to its question, and drops one that no question waits for. */
  handleResponse(response: { readonly id: RpcId } & Outcome): void {
    const question = this.#questions.get(response.id);
    if (!question) {
      return;
    }
    this.#questions.delete(response.id);
    question.cancel();
    if ("error" in response) {
      question.reject(decodeError(response.error));
    } else {
      question.resolve(response.result);
    }
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** Fails what a host of this connection was asked: whoever would have answered is gone. */
  hostEnded(host: string): void {
    for (const [id, { host: questionHost, reject, cancel }] of this.#questions) {
      if (questionHost === host) {
        this.#questions.delete(id);
        cancel();
        reject(new MessagingTimeout(`the agent of host ${host} ended before it answered`, { host }));
      }
    }
  }

  /** Fails every question that waits for an answer: the connection is gone. */
  ended(): void {
    this.#closed = true;
    for (const { reject, cancel } of this.#questions.values()) {
      cancel();
      reject(connectionEnded("a call", {}));
    }
  }
}

/** The message as JSON; an error when an agent sent a value that is nested too deeply to be written again. */
function textOf(message: unknown): string {
  try {
    return JSON.stringify(message);
  } catch {
    const { id = null } = message as { readonly id?: RpcId };
    return JSON.stringify(respond(id, { error: encodeError(undefined) }));
  }
}

function connectionEnded(method: string, meta: Meta): ConductorError {
  return new MessagingTimeout(`the agent's connection ended before it answered ${method}`, { ...meta });
}

/** A response frame. */
export function respond(id: RpcId, outcome: Outcome): ResponseFrame {
  return { jsonrpc: "2.0", id, ...outcome };
}
