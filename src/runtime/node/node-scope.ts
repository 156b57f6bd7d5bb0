import { AsyncLocalStorage } from "node:async_hooks";
import type { Scope } from "../scope.js";

/** A scope that slows every promise of the process down a little, from its first use on. */
export function nodeScope<T>(): Scope<T> {
  const storage = new AsyncLocalStorage<T>();
  return {
    get current() {
      return storage.getStore();
    },
    run: (owner, work) => storage.run(owner, work),
    leave: (work) => storage.exit(work),
  };
}
