import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { EventLoopTicks } from "../event-loop.js";
import type { Store } from "../store/store.js";
import type { StoredTask, Task } from "../store/tasks.js";

/** What a task's flow is told about its run. */
export interface TaskContext {
  readonly requestId: string;
  /**
   * The task was there when the conductor started: an earlier run may have done any part of it, and what it claimed in
   * Placement may still be held.
   */
  readonly restarted: boolean;
  /** Reports why the operation failed to the request that waits for it, if the flow itself has handled the failure. */
  report(failure: unknown): void;
  /** Removes the task. Called in the transaction of the last write, so that the work is never done twice nor lost. */
  finish(): void;
}

/** How one kind of task is done. A flow that ends without `finish` is done too. */
export interface TaskFlow<T extends Task> {
  run(task: T, context: TaskContext): Promise<void>;
  /**
   * The flow threw something that it does not expect; called inside the transaction that removes the task. Nothing may be
   * left that waits for ever.
   */
  fail(task: T, error: unknown, context: TaskContext): void;
}

/** Hears of each task that has ended, and how many milliseconds after it was stored. */
export type TaskListener = (kind: Task["kind"], milliseconds: number) => void;

/** The flow of each kind of task. */
export type TaskTable = { readonly [K in Task["kind"]]: TaskFlow<Extract<Task, { kind: K }>> };

export interface TaskRunnerOptions {
  readonly store: Store;
  readonly table: TaskTable;
  /** Tasks that run at a time. */
  readonly concurrency: number;
  readonly logger: Logger;
  readonly clock: Pick<Clock, "now">;
  /** Absent: nothing else of this process has to be given its turn. */
  readonly ticks?: EventLoopTicks;
}

/**
 * Does the work that is stored as tasks, in the order in which it was stored: several at a time, but never two of one
 * instance (spec V31: none of it is forgotten).
 */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  /** Tasks known, not yet running; in their order. */
  #waiting: StoredTask[] = [];
  readonly #running = new Map<number, Promise<void>>();
  /** Instances of the tasks that run. */
  readonly #busy = new Set<string>();
  #inherited: ReadonlySet<number> = new Set();
  #state: "new" | "serving" | "stopped" = "new";
  /** The newest task that is known. */
  #newest = 0;
  /** There may be tasks in the store that are not known. */
  #stale = false;
  #woken = false;
  #yielding = false;
  #idlers: (() => void)[] = [];
  /** Requests that wait for a task's end, by the task's id. */
  readonly #waiters = new Map<number, (failure: unknown) => void>();
  readonly #listeners: TaskListener[] = [];

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
  }

  /** Tasks that run now. */
  get running(): number {
    return this.#running.size;
  }

  listen(listener: TaskListener): void {
    this.#listeners.push(listener);
  }

  /** Takes up what an earlier conductor left. */
  start(): void {
    this.#state = "serving";
    this.#inherited = new Set(this.#options.store.tasks.pending().map(({ id }) => id));
    this.#stale = true;
    this.#pump();
  }

  /** A task was stored: look. */
  wake(): void {
    this.#stale = true;
    if (this.#woken) {
      return;
    }
    this.#woken = true;
    // Not at once: the caller may still be inside the transaction that stores the task.
    void Promise.resolve().then(() => {
      this.#woken = false;
      this.#pump();
    });
  }

  /**
   * Resolves when the task has ended: to the failure that its flow reported or threw, or to undefined. Has to be called before
   * the task can begin, in the same tick that stored it. The task does not depend on it.
   */
  ended(id: number): Promise<unknown> {
    return new Promise((resolve) => this.#waiters.set(id, resolve));
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.length === 0 && !this.#stale) {
      return;
    }
    await new Promise<void>((resolve) => this.#idlers.push(resolve));
  }

  /** Takes no new task and waits for those that run; the others stay stored. */
  async stop(): Promise<void> {
    this.#state = "stopped";
    await Promise.all(this.#running.values());
    for (const id of this.#waiters.keys()) {
      this.#settle(id, new Error("the control plane stops; the stored request goes on when it starts again"));
    }
  }

  /** Never throws: it runs in callbacks, where nobody could catch it. */
  #pump(): void {
    if (this.#state !== "serving") {
      return;
    }
    try {
      this.#beginDue();
    } catch (error) {
      this.#options.logger.error("the tasks could not be read; they are read again when the next is stored or ends", {
        err: error,
      });
    }
  }

  /** Begins each task that may run now. */
  #beginDue(): void {
    const { store, concurrency } = this.#options;
    if (this.#stale && this.#running.size < concurrency) {
      // Only what came since: a thousand builds would else be read a thousand times.
      for (const task of store.tasks.pending(this.#newest)) {
        this.#waiting.push(task);
        this.#newest = task.id;
      }
      this.#stale = false;
    }
    // A task that waits for another of its instance must not let a later one of that instance pass.
    const passed = new Set(this.#busy);
    const left: StoredTask[] = [];
    for (const stored of this.#waiting) {
      const { instanceUuid } = stored.task;
      if (this.#running.size < concurrency && !passed.has(instanceUuid) && !this.#othersAreDue()) {
        this.#begin(stored);
      } else {
        left.push(stored);
      }
      passed.add(instanceUuid);
    }
    this.#waiting = left;
    if (this.#running.size === 0 && !this.#yielding && this.#waiting.length === 0 && !this.#stale) {
      for (const idler of this.#idlers) {
        idler();
      }
      this.#idlers = [];
    }
  }

  /** A flow that waits for nothing goes on to its end at once: a thousand builds would hold up every request. */
  #othersAreDue(): boolean {
    const { ticks } = this.#options;
    if (ticks?.due && !this.#yielding) {
      this.#yielding = true;
      void ticks.give().then(() => {
        this.#yielding = false;
        this.#pump();
      });
    }
    return this.#yielding;
  }

  #begin(stored: StoredTask): void {
    const instance = stored.task.instanceUuid;
    this.#busy.add(instance);
    const done = this.#execute(stored).then(() => {
      this.#running.delete(stored.id);
      this.#busy.delete(instance);
      for (const listener of this.#listeners) {
        listener(stored.task.kind, this.#options.clock.now() - stored.createdAt);
      }
      this.#pump();
    });
    this.#running.set(stored.id, done);
  }

  /** Never rejects. */
  async #execute(stored: StoredTask): Promise<void> {
    const { store, table, logger } = this.#options;
    const { id, task } = stored;
    let finished = false;
    let failure: unknown;
    const context: TaskContext = {
      requestId: task.requestId,
      restarted: this.#inherited.has(id),
      report: (reported) => {
        failure = reported;
      },
      finish: () => {
        store.tasks.finish(id);
        finished = true;
      },
    };
    const flow = flowOf(table, task);
    try {
      await flow.run(task, context);
      if (!finished) {
        context.finish();
      }
    } catch (error) {
      failure = error;
      logger.error(`${task.kind} failed`, { err: error, instance: task.instanceUuid, request_id: task.requestId });
      this.#giveUp(stored, flow, error, context);
    }
    this.#settle(id, failure);
  }

  #settle(id: number, failure: unknown): void {
    this.#waiters.get(id)?.(failure);
    this.#waiters.delete(id);
  }

  #giveUp({ id, task }: StoredTask, flow: TaskFlow<Task>, error: unknown, context: TaskContext): void {
    const { store, logger } = this.#options;
    try {
      store.transaction(() => {
        flow.fail(task, error, context);
        store.tasks.finish(id);
      });
    } catch (second) {
      logger.fatal(`${task.kind} could not even be given up; it is tried again when the conductor starts next`, {
        err: second,
        instance: task.instanceUuid,
        request_id: task.requestId,
      });
    }
  }
}

/** The row of the table that is for this task; its type says that it takes tasks of this kind only. */
function flowOf(table: TaskTable, { kind }: Task): TaskFlow<Task> {
  return table[kind];
}
