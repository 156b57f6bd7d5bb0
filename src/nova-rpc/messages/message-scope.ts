import { AsyncLocalStorage } from "node:async_hooks";
import type { ObjectData } from "../objects/primitive.js";
import type { NovaContext } from "./request-context.js";
import type { RowsInHand } from "./rows-in-hand.js";

/** A message that this process works on: what is done on its behalf carries its context, and hands its arguments on. */
export interface MessageScope {
  readonly context: NovaContext;
  readonly method: string;
  /** As they came. */
  readonly args: Readonly<Record<string, unknown>>;
  /** Fields that the sender has set and not saved, by instance: the first save takes them along. */
  readonly unsaved: Map<string, ObjectData>;
  /** Rows as the conductor has them, without what is unsaved. */
  readonly rows: RowsInHand;
}

/** Which message the code that runs now was called for. */
export class MessageScopes {
  readonly #storage = new AsyncLocalStorage<MessageScope>();

  get current(): MessageScope | null {
    return this.#storage.getStore() ?? null;
  }

  run<T>(scope: MessageScope, action: () => Promise<T>): Promise<T> {
    return this.#storage.run(scope, action);
  }

  /** Until then, every promise of the process carries the scope (Node 20 and 22), and is slower for it. */
  close(): void {
    this.#storage.disable();
  }
}
