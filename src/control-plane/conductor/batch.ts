import type { EventLoopTicks } from "../event-loop.js";
import type { Store } from "../store/store.js";
import { type Dispatcher, useOfRecords } from "./dispatcher.js";
import type { Message } from "./session.js";

type Response = ReturnType<Dispatcher["dispatch"]>;

/**
 * The messages of one frame, in order. Consecutive reads and writes share a transaction, since most of a write's cost is
 * the commit. Their responses are sent after it.
 */
export class Batch {
  readonly responses: Response[] = [];
  readonly #store: Pick<Store, "batch">;
  readonly #messages: readonly Message[];
  readonly #handle: (message: Message) => Response;
  /** Set to false when a shared transaction could not be committed. */
  #canCombine = true;

  constructor(store: Pick<Store, "batch">, messages: readonly Message[], handle: (message: Message) => Response) {
    this.#store = store;
    this.#messages = messages;
    this.#handle = handle;
  }

  get done(): boolean {
    return this.responses.length === this.#messages.length;
  }

  /** Handles the next message. A write is followed by the next reads and writes until other event-loop work is due. */
  goOn(ticks: Pick<EventLoopTicks, "due">): void {
    const at = this.responses.length;
    if (!this.#canCombine || this.#useOf(at) !== "writes" || this.#useOf(at + 1) === "none") {
      this.#next();
      return;
    }
    try {
      this.#store.batch(() => {
        this.responses.length = at;
        do {
          this.#next();
        } while (this.#useOf(this.responses.length) !== "none" && !ticks.due);
      });
    } catch {
      // Nothing was stored, so each message is now tried in its own transaction.
      this.responses.length = at;
      this.#canCombine = false;
    }
  }

  #useOf(index: number): ReturnType<typeof useOfRecords> {
    const message = this.#messages[index];
    return message?.kind === "request" ? useOfRecords(message.request.method) : "none";
  }

  #next(): void {
    const message = this.#messages[this.responses.length];
    const response = message && this.#handle(message);
    if (response instanceof Promise) {
      // Prevents an unhandled rejection: it is awaited later, possibly after it has failed.
      response.catch(() => undefined);
    }
    this.responses.push(response);
  }
}
