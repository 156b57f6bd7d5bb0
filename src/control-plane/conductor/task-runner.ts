import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { EventLoopTicks } from "../event-loop.js";
import type { Store } from "../store/store.js";
import type { StoredTask, Task } from "../store/tasks.js";

export interface TaskContext {
  readonly requestId: string;
  /** The task existed when the conductor started. An earlier run may have done part of it and left allocations in Placement. */
  readonly restarted: boolean;
  /** Reports the failure to the request that waits for the task, if the flow has handled it itself. */
  report(failure: unknown): void;
  /** Removes the task. Call it in the transaction of the last write, so that work is neither repeated nor lost. */
  finish(): void;
}

/** The flow of a kind of task. A flow that returns without `finish` is finished by the runner. */
export interface TaskFlow<T extends Task> {
  run(task: T, context: TaskContext): Promise<void>;
  /**
   * Handles an unexpected error of the flow, in the transaction that removes the task. It must not leave anything waiting
   * forever.
   */
  fail(task: T, error: unknown, context: TaskContext): void;
}

/** Called for each finished task with the milliseconds since it was stored. */
export type TaskListener = (kind: Task["kind"], milliseconds: number) => void;

export type TaskTable = { readonly [K in Task["kind"]]: TaskFlow<Extract<Task, { kind: K }>> };

export interface TaskRunnerOptions {
  readonly store: Store;
  readonly table: TaskTable;
  /** Max concurrent tasks. */
  readonly concurrency: number;
  readonly logger: Logger;
  readonly clock: Pick<Clock, "now">;
  /** Absent: the runner need not yield to other work of the process. */
  readonly ticks?: EventLoopTicks;
}

/** Executes stored tasks in order: several concurrently, but never two of one instance (spec V31: none is lost). */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  /** Known tasks that do not run yet, in order. */
  #waiting: StoredTask[] = [];
  readonly #running = new Map<number, Promise<void>>();
  /** Instances of running tasks. */
  readonly #busy = new Set<string>();
  #inherited: ReadonlySet<number> = new Set();
  #state: "new" | "serving" | "stopped" = "new";
  /** Id of the newest known task. */
  #newest = 0;
  /** The store may have tasks that are not known yet. */
  #stale = false;
  #woken = false;
  #yielding = false;
  #idlers: (() => void)[] = [];
  /** Requests that wait for a task's end, by task id. */
  readonly #waiters = new Map<number, (failure: unknown) => void>();
  readonly #listeners: TaskListener[] = [];

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  listen(listener: TaskListener): void {
    this.#listeners.push(listener);
  }

  /** Starts with the tasks of an earlier conductor. */
  start(): void {
    this.#state = "serving";
    this.#inherited = new Set(this.#options.store.tasks.pending().map(({ id }) => id));
    this.#stale = true;
    this.#pump();
  }

  /** Schedules a check of the store for new tasks. */
  wake(): void {
    this.#stale = true;
    if (this.#woken) {
      return;
    }
    this.#woken = true;
    // Deferred, since the caller may still be in the transaction that stores the task.
    void Promise.resolve().then(() => {
      this.#woken = false;
      this.#pump();
    });
  }

  /**
   * Resolves when the task has ended, with the failure that its flow reported or threw, or undefined. Call it in the tick
   * that stored the task, before the task can begin. The task does not depend on it.
   */
  ended(id: number): Promise<unknown> {
    return new Promise((resolve) => this.#waiters.set(id, resolve));
  }

  /** Resolves when no task is left. */
  async idle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.length === 0 && !this.#stale) {
      return;
    }
    await new Promise<void>((resolve) => this.#idlers.push(resolve));
  }

  /** Starts no further task and waits for the running ones; the others stay stored. */
  async stop(): Promise<void> {
    this.#state = "stopped";
    await Promise.all(this.#running.values());
    for (const id of this.#waiters.keys()) {
      this.#settle(id, new Error("the control plane is stopping; the stored request continues at its next start"));
    }
  }

  /** Never throws, since it runs in callbacks without an error handler. */
  #pump(): void {
    if (this.#state !== "serving") {
      return;
    }
    try {
      this.#beginDue();
    } catch (error) {
      this.#options.logger.error("tasks could not be read; retrying when the next one is stored or ends", {
        err: error,
      });
    }
  }

  /** Starts each task that can run now. */
  #beginDue(): void {
    const { store, concurrency } = this.#options;
    if (this.#stale && this.#running.size < concurrency) {
      // Reads only new tasks; otherwise a thousand builds would be read a thousand times.
      for (const task of store.tasks.pending(this.#newest)) {
        this.#waiting.push(task);
        this.#newest = task.id;
      }
      this.#stale = false;
    }
    // If a task waits for another task of its instance, later tasks of that instance must wait as well.
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

  /**
   * Yields when other work is due: flows that never wait finish synchronously, and a thousand builds would delay all
   * requests.
   */
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
      logger.fatal(`${task.kind} could not be ended after its failure; retrying at the next start of the conductor`, {
        err: second,
        instance: task.instanceUuid,
        request_id: task.requestId,
      });
    }
  }
}

/** Returns the flow for a task; the type states that it accepts tasks of this kind only. */
function flowOf(table: TaskTable, { kind }: Task): TaskFlow<Task> {
  return table[kind];
}
