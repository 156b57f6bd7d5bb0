import { anyObject, type Field, id, oneOf, text, time, uuid } from "../../records/field.js";
import { checkOf } from "./check.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";
import { type StoredTask, TASK_KINDS, type Task } from "./task.js";

/** What every task has; the rest of each is its kind's. */
const HEAD = { kind: oneOf(TASK_KINDS), instanceUuid: uuid, requestId: text() };
const head = Object.entries(HEAD).map(([field, schema]) => [field, checkOf(schema)] as const);

const TASKS = tableOf("tasks", { id, task: anyObject as unknown as Field<Task>, createdAt: time });

/** Table `tasks`: what the conductor still has to do, oldest first. */
export class Tasks {
  readonly #context: StoreContext;
  readonly #table: Table<StoredTask>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, TASKS);
  }

  add(task: Task): StoredTask {
    const { sql, clock, changes } = this.#context;
    for (const [field, check] of head) {
      check(new Map<string, unknown>(Object.entries(task)).get(field), `task.${field}`);
    }
    return sql.transaction(() => {
      const createdAt = clock.now();
      const id = this.#table.insert({ task, createdAt });
      changes.changed("task", id);
      return { id, task, createdAt };
    });
  }

  /** @param after only those that were stored after the task of this id */
  pending(after = 0): StoredTask[] {
    return this.#table.many("id > ? ORDER BY id", after);
  }

  /** What is left to do about the instance. */
  ofInstance(instanceUuid: string): StoredTask[] {
    return this.#table.many("json_extract(task, '$.instanceUuid') = ? ORDER BY id", instanceUuid);
  }

  count(): number {
    return Number(this.#context.sql.get("SELECT count(*) FROM tasks")?.[0] ?? 0);
  }

  finish(id: number): void {
    this.#context.sql.execute("DELETE FROM tasks WHERE id = ?", id);
  }
}
