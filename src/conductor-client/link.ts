import type { Socket } from "../runtime/sockets.js";
import type { CancelTimer, Timers } from "../runtime/time.js";
import { ConductorError } from "./errors.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import type { SessionMethods } from "./methods/session.js";
import { decodeError, type Meta, type Outcome, type RequestFrame, type RpcId } from "./wire.js";

/** A serialised request. */
export interface RequestText {
  readonly method: string;
  readonly text: string;
}

/** Maximum messages and bytes of one batch, far below the conductor's limits. */
const MAX_BATCH_MESSAGES = 64;

const BYTES = 48 * 1024;

/**
 * Methods that wait, of the kinds `waits` and `asks`. They are sent alone: the response to a batch is sent as one frame, so
 * all other messages of the batch would wait as well.
 * @internal for tests
 */
export const WAITING_METHODS: ReadonlySet<string> = new Set([
  "add_hosts",
  "agent_call",
  "cluster_work",
  "control_host",
  "forget_host",
  "image_access",
  "volume_access",
  "list_hosts",
  "placement_access",
  "restore_cluster",
  "stand_in",
  "stop_cluster",
  "take_recorded",
]);

/** Batches outgoing messages of many hosts into one frame per event-loop tick. */
export class Outgoing {
  readonly #socket: Pick<Socket, "send" | "afterTurn">;
  readonly #gathered = new Gathered();

  constructor(socket: Pick<Socket, "send" | "afterTurn">) {
    this.#socket = socket;
  }

  /** Adds a message to the batch of this event-loop tick. */
  add(message: object): void {
    this.addRequest({ method: "method" in message ? String(message.method) : "", text: JSON.stringify(message) });
  }

  addRequest({ method, text }: RequestText): void {
    const waits = WAITING_METHODS.has(method);
    if (waits || !this.#gathered.takes(text)) {
      this.end();
    }
    if (waits || text.length > BYTES) {
      this.#socket.send(text);
    } else if (this.#gathered.add(text) === 1) {
      this.#socket.afterTurn(() => this.end());
    }
  }

  /** Sends the batch. */
  end(): void {
    const frame = this.#gathered.frame();
    if (frame !== undefined) {
      this.#socket.send(frame);
    }
  }
}

/** The serialised messages of one batch. */
class Gathered {
  #messages: string[] = [];
  #bytes = 0;

  takes(text: string): boolean {
    return this.#messages.length < MAX_BATCH_MESSAGES && this.#bytes + text.length <= BYTES;
  }

  /** @returns the present number of messages */
  add(text: string): number {
    this.#bytes += text.length;
    return this.#messages.push(text);
  }

  /** Removes and returns all messages as one frame; undefined if there are none. */
  frame(): string | undefined {
    const messages = this.#messages;
    this.#messages = [];
    this.#bytes = 0;
    return messages.length > 1 ? `[${messages.join(",")}]` : messages[0];
  }
}

/** Receives the responses to calls that outlive a link, and the requests of the conductor. */
export interface LinkListener {
  onResponse(id: number, outcome: Outcome): void;
  onRequest(request: RequestFrame, link: Link): void;
}

type Incoming = RequestFrame | ({ readonly id: RpcId } & Outcome);

interface Question {
  readonly settle: (outcome: Outcome) => void;
  readonly fail: (error: Error) => void;
  readonly cancel: CancelTimer;
}

/** One socket to the conductor, from its opening to its end. */
export class Link {
  readonly #socket: Socket;
  readonly #timers: Timers;
  readonly #listener: LinkListener;
  readonly #questions = new Map<RpcId, Question>();
  readonly #ended: Promise<string>;
  readonly #outgoing: Outgoing;
  #open = true;
  #lastId = 0;

  constructor(socket: Socket, timers: Timers, listener: LinkListener) {
    this.#socket = socket;
    this.#outgoing = new Outgoing(socket);
    this.#timers = timers;
    this.#listener = listener;
    this.#ended = new Promise((resolve) => {
      socket.onClose((code, reason) => {
        this.#end();
        resolve(reason || `connection closed (${code})`);
      });
    });
    socket.onMessage((text) => this.#take(text));
  }

  get open(): boolean {
    return this.#open;
  }

  /** Resolves with the reason when the socket has closed. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** Sends a message, batched with others of the same event-loop tick. */
  send(message: object): void {
    this.#outgoing.add(message);
  }

  sendRequest(request: RequestText): void {
    this.#outgoing.addRequest(request);
  }

  /**
   * Calls a session method, which is valid on this socket only.
   * @throws {MessagingTimeout} there was no response within `timeout` ms, or the socket closed.
   */
  request<M extends keyof SessionMethods>(
    method: M,
    params: ParamsOf<SessionMethods, M>,
    options: { readonly timeout: number; readonly meta?: Meta },
  ): Promise<ResultOf<SessionMethods, M>> {
    const { timeout, meta = {} } = options;
    this.#lastId += 1;
    // A string, so that it never equals the number of a call that is repeated on another socket.
    const id = `s${this.#lastId}`;
    return new Promise((resolve, reject) => {
      if (!this.#open) {
        reject(new ConductorError("MessagingTimeout", `the connection ended before ${method} was sent`));
        return;
      }
      const expire = () => {
        this.#questions.delete(id);
        reject(
          new ConductorError("MessagingTimeout", `the conductor did not respond to ${method} within ${timeout} ms`),
        );
      };
      const settle = (outcome: Outcome) => {
        if ("error" in outcome) {
          reject(decodeError(outcome.error));
        } else {
          resolve(outcome.result as ResultOf<SessionMethods, M>);
        }
      };
      this.#questions.set(id, { settle, fail: reject, cancel: this.#timers.after(timeout, expire) });
      this.send({ jsonrpc: "2.0", id, method, params, meta });
    });
  }

  close(): void {
    this.#outgoing.end();
    this.#socket.close(1000, "the agent leaves");
  }

  /** Closes a connection that no longer responds. */
  cut(): void {
    this.#socket.terminate();
    this.#end();
  }

  #take(text: string): void {
    if (!this.#open) {
      return;
    }
    const message = parse(text);
    if (!message) {
      // The peer is not a conductor, or the stream is corrupt.
      this.cut();
      return;
    }
    for (const each of Array.isArray(message) ? message : [message]) {
      this.#takeOne(each);
    }
  }

  #takeOne(message: Incoming): void {
    if ("method" in message) {
      this.#listener.onRequest(message, this);
    } else if (typeof message.id === "number") {
      this.#listener.onResponse(message.id, message);
    } else {
      this.#onResponse(message);
    }
  }

  #onResponse(message: { readonly id: RpcId } & Outcome): void {
    const question = this.#questions.get(message.id);
    this.#questions.delete(message.id);
    question?.cancel();
    question?.settle(message);
  }

  #end(): void {
    this.#open = false;
    const questions = [...this.#questions.values()];
    this.#questions.clear();
    for (const { fail, cancel } of questions) {
      cancel();
      fail(new ConductorError("MessagingTimeout", "the connection ended before the conductor responded"));
    }
  }
}

/** Parses one message, or the messages of a batch. */
function parse(text: string): Incoming | readonly Incoming[] | undefined {
  try {
    const message: unknown = JSON.parse(text);
    const each: readonly unknown[] = Array.isArray(message) ? message : [message];
    return each.every((one) => typeof one === "object" && one !== null) ? (message as Incoming) : undefined;
  } catch {
    return undefined;
  }
}
