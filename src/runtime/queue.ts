import { AsyncResource } from "node:async_hooks";
import PQueue from "p-queue";

/** Runs tasks concurrently with a bound; a task that must wait is started in the order it came. */
export class TaskQueue {
  readonly #concurrency: number;
  /** Made with the first task: most hosts of a process never have one. */
  #queue: PQueue | undefined;

  /** @param concurrency tasks that run at a time; 0 means unlimited. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency === 0 ? Number.POSITIVE_INFINITY : concurrency;
  }

  /** Tasks that wait for their turn. */
  get waiting(): number {
    return this.#queue?.size ?? 0;
  }

  get running(): number {
    return this.#queue?.pending ?? 0;
  }

  /**
   * Resolves or rejects as the task does.
   * @throws the signal's reason when `signal` is aborted while the task waits for its turn.
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    // A task that waits is started by the end of another one; it still belongs to what asked for it.
    this.#queue ??= new PQueue({ concurrency: this.#concurrency });
    return this.#queue.add(AsyncResource.bind(task), signal ? { signal } : {});
  }

  /** Resolves when nothing runs and nothing waits. */
  async idle(): Promise<void> {
    await this.#queue?.onIdle();
  }
}

/** Applies `task` to every item, at most `concurrency` at a time; results in the order of the items. The first error wins. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const queue = new TaskQueue(concurrency);
  return Promise.all(items.map((item, index) => queue.run(() => task(item, index))));
}
