import type { Modules } from "../runtime/modules.js";
import type { VirtualProcess } from "./virtual-process.js";

/** What the processes of a world load. That takes real time, and may not take any of the world's. */
export class LoadingModules {
  readonly #loading = new Set<Promise<unknown>>();

  /** The modules door of a process. */
  of(process: VirtualProcess): Modules {
    return { load: (load) => process.whileAlive(() => this.#follow(load())) };
  }

  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** Resolves when nothing is being loaded any more; never rejects. */
  async loaded(): Promise<void> {
    while (this.#loading.size > 0) {
      await Promise.allSettled(this.#loading);
    }
  }

  #follow<T>(loading: Promise<T>): Promise<T> {
    this.#loading.add(loading);
    const forget = () => this.#loading.delete(loading);
    loading.then(forget, forget);
    return loading;
  }
}
