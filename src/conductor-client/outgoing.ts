import type { Socket } from "../runtime/sockets.js";

/** Messages of one batch, and bytes that all of them together may have: the conductor's limits are far above these. */
const MAX_BATCH_MESSAGES = 64;
const BYTES = 48 * 1024;

/**
 * Methods that wait for something, of the kinds `waits` and `asks`. They are sent alone: a batch is answered as a whole, so that
 * all others would wait with them.
 * @internal for tests
 */
export const WAITING_METHODS: ReadonlySet<string> = new Set([
  "add_hosts",
  "agent_call",
  "cluster_work",
  "control_host",
  "forget_host",
  "image_access",
  "list_hosts",
  "placement_access",
  "restore_cluster",
  "stand_in",
  "stop_cluster",
  "take_recorded",
]);

/** A request as it goes over the wire. */
export interface RequestText {
  readonly method: string;
  readonly text: string;
}

/** Messages on their way out: those of many hosts that are said at a time go as one frame. */
export class Outgoing {
  readonly #socket: Pick<Socket, "send" | "afterTurn">;
  readonly #gathered = new Gathered();

  constructor(socket: Pick<Socket, "send" | "afterTurn">) {
    this.#socket = socket;
  }

  /** Goes with all that is said in this turn of the event loop. */
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

  /** Sends what is there. */
  end(): void {
    const frame = this.#gathered.frame();
    if (frame !== undefined) {
      this.#socket.send(frame);
    }
  }
}

/** The texts of messages that go together. */
class Gathered {
  #messages: string[] = [];
  #bytes = 0;

  takes(text: string): boolean {
    return this.#messages.length < MAX_BATCH_MESSAGES && this.#bytes + text.length <= BYTES;
  }

  /** @returns how many there are now */
  add(text: string): number {
    this.#bytes += text.length;
    return this.#messages.push(text);
  }

  /** All of them, which are forgotten; undefined: there are none. */
  frame(): string | undefined {
    const messages = this.#messages;
    this.#messages = [];
    this.#bytes = 0;
    return messages.length > 1 ? `[${messages.join(",")}]` : messages[0];
  }
}
