import type { Logger } from "../../runtime/logger.js";
import type { Store } from "../store/store.js";
import type { StoredTask, Task } from "../store/task.js";
import type { Turns } from "../turns.js";

/** What a task's flow is told about its run. */
export interface TaskContext {
  readonly requestId: string;
  /**
   * The task was there when the conductor started: an earlier run may have done any part of it, and what it claimed in
   * Placement may still be held.
   */
  readonly restarted: boolean;
  /** Removes the task. Called in the transaction of the last write, so that the work is never done twice nor lost. */
  finish(): void;
}

/** The flow of each kind of task. A flow that ends without `finish` is done too. */
export type TaskTable = {
  readonly [K in Task["kind"]]: {
    run(task: Extract<Task, { kind: K }>, context: TaskContext): Promise<void>;
    /**
     * The flow threw something that it does not expect; called inside the transaction that removes the task. Nothing may be
     * left that waits for ever.
     */
    fail(task: Extract<Task, { kind: K }>, error: unknown, context: TaskContext): void;
  };
};

/** Does the work that is stored as tasks (spec V31: none of it is forgotten). */
export interface TaskRunner {
  /** Takes up what an earlier conductor left. */
  start(): void;
  /** A task was stored: look. */
  wake(): void;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
  /** Takes no new task and waits for those that run; the others stay stored. */
  stop(): Promise<void>;
}

/**
 * Runs tasks in the order they were stored: several at a time, but never two of one instance.
 * @param options.concurrency tasks that run at a time
 */
export function createTaskRunner(options: {
  readonly store: Store;
  readonly table: TaskTable;
  readonly concurrency: number;
  readonly logger: Logger;
  /** Absent: nobody else waits for this process. */
  readonly turns?: Turns;
}): TaskRunner {
  const { store, table, concurrency, logger, turns } = options;
  /** Tasks known, not yet running; in their order. */
  let waiting: StoredTask[] = [];
  const running = new Map<number, Promise<void>>();
  const busy = new Set<string>();
  /** Their removal failed: they are left for the next start, or they would be run again at once and for ever. */
  const stuck = new Set<number>();
  let inherited = new Set<number>();
  let state: "new" | "serving" | "stopped" = "new";
  let stale = false;
  let woken = false;
  let yielding = false;
  let idlers: (() => void)[] = [];

  /** Never throws: it runs in callbacks, where nobody could catch it. */
  function pump(): void {
    if (state !== "serving") {
      return;
    }
    try {
      turn();
    } catch (error) {
      logger.error("the tasks could not be read; they are read again when the next is stored or ends", { err: error });
    }
  }

  function turn(): void {
    if (stale && running.size < concurrency) {
      waiting = store.tasks.pending().filter(({ id }) => !running.has(id) && !stuck.has(id));
      stale = false;
    }
    // A task that waits for another of its instance must not let a later one of that instance pass.
    const passed = new Set(busy);
    const left: StoredTask[] = [];
    for (const stored of waiting) {
      const { instanceUuid } = stored.task;
      if (running.size < concurrency && !passed.has(instanceUuid) && !othersAreDue()) {
        begin(stored);
      } else {
        left.push(stored);
      }
      passed.add(instanceUuid);
    }
    waiting = left;
    if (running.size === 0 && !yielding && waiting.length === 0 && !stale) {
      for (const idler of idlers) {
        idler();
      }
      idlers = [];
    }
  }

  /** A flow that waits for nobody goes on to its end at once: a thousand builds would hold up every request. */
  function othersAreDue(): boolean {
    if (turns?.due && !yielding) {
      yielding = true;
      void turns.give().then(() => {
        yielding = false;
        pump();
      });
    }
    return yielding;
  }

  function begin(stored: StoredTask): void {
    const instance = stored.task.instanceUuid;
    busy.add(instance);
    const done = execute(stored).then(() => {
      running.delete(stored.id);
      busy.delete(instance);
      pump();
    });
    running.set(stored.id, done);
  }

  /** Never rejects. */
  async function execute(stored: StoredTask): Promise<void> {
    const { id, task } = stored;
    let finished = false;
    const finish = () => {
      store.tasks.finish(id);
      finished = true;
    };
    const context: TaskContext = { requestId: task.requestId, restarted: inherited.has(id), finish };
    try {
      await flowOf(table, task).run(context);
      if (!finished) {
        finish();
      }
    } catch (error) {
      logger.error(`${task.kind} failed`, { err: error, instance: task.instanceUuid, request_id: task.requestId });
      giveUp(stored, error, context);
    }
  }

  function giveUp({ id, task }: StoredTask, error: unknown, context: TaskContext): void {
    try {
      store.transaction(() => {
        flowOf(table, task).fail(error, context);
        store.tasks.finish(id);
      });
    } catch (second) {
      stuck.add(id);
      logger.fatal(`${task.kind} could not even be given up; it is tried again when the conductor starts next`, {
        err: second,
        instance: task.instanceUuid,
        request_id: task.requestId,
      });
    }
  }

  return {
    start: () => {
      state = "serving";
      inherited = new Set(store.tasks.pending().map(({ id }) => id));
      stale = true;
      pump();
    },
    wake: () => {
      stale = true;
      if (woken) {
        return;
      }
      woken = true;
      // Not at once: whoever wakes may still be inside the transaction that stores the task.
      void Promise.resolve().then(() => {
        woken = false;
        pump();
      });
    },
    idle: async () => {
      if (running.size === 0 && waiting.length === 0 && !stale) {
        return;
      }
      await new Promise<void>((resolve) => idlers.push(resolve));
    },
    stop: async () => {
      state = "stopped";
      await Promise.all(running.values());
    },
  };
}

/** The row of the table that is for this task. */
function flowOf(
  table: TaskTable,
  task: Task,
): { run(context: TaskContext): Promise<void>; fail(error: unknown, context: TaskContext): void } {
  switch (task.kind) {
    case "build_instances":
      return bind(table.build_instances, task);
    case "rebuild_instance":
      return bind(table.rebuild_instance, task);
    case "migrate_server":
      return bind(table.migrate_server, task);
    case "live_migrate_instance":
      return bind(table.live_migrate_instance, task);
    case "unshelve_instance":
      return bind(table.unshelve_instance, task);
    case "delete_resized":
      return bind(table.delete_resized, task);
    case "delete_local":
      return bind(table.delete_local, task);
  }
}

function bind<T extends Task>(
  flow: {
    run(task: T, context: TaskContext): Promise<void>;
    fail(task: T, error: unknown, context: TaskContext): void;
  },
  task: T,
) {
  return {
    run: (context: TaskContext) => flow.run(task, context),
    fail: (error: unknown, context: TaskContext) => flow.fail(task, error, context),
  };
}
