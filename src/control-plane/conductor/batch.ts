import type { EventLoopTicks } from "../event-loop.js";
import type { Store } from "../store/store.js";
import { type Dispatcher, useOfRecords } from "./dispatcher.js";
import type { Message } from "./session.js";

type Response = ReturnType<Dispatcher["dispatch"]>;

/**
 * The messages of one frame, in their order. Writes, and what is read between them, are one transaction: the disk's part is most of a
 * write, and all are answered when it is over.
 */
export class Batch {
  readonly responses: Response[] = [];
  readonly #store: Pick<Store, "batch">;
  readonly #messages: readonly Message[];
  readonly #handle: (message: Message) => Response;
  /** False after a transaction of several that could not be committed. */
  #canCombine = true;

  constructor(store: Pick<Store, "batch">, messages: readonly Message[], handle: (message: Message) => Response) {
    this.#store = store;
    this.#messages = messages;
    this.#handle = handle;
  }

  get done(): boolean {
    return this.responses.length === this.#messages.length;
  }

  /** Carries out the next message, and what follows a write, until others are due. */
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
      // Nothing of it was stored: each is tried by itself, and fails or not.
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
      // It is awaited when all are under way, perhaps only after it has failed.
      response.catch(() => undefined);
    }
    this.responses.push(response);
  }
}
