import type { StoredTask, Task } from "../conductor/task.js";
import * as check from "./check.js";
import * as codec from "./codec.js";
import type { TaskStore } from "./store.js";
import type { StoreContext } from "./store-context.js";
import { type Columns, Table } from "./table.js";

const KINDS: readonly Task["kind"][] = [
  "build_instances",
  "rebuild_instance",
  "migrate_server",
  "live_migrate_instance",
  "unshelve_instance",
  "delete_resized",
  "delete_local",
];

const taskShape: check.Check = (value, field) => {
  check.mapOf(check.anything)(value, field);
  const { kind, instanceUuid, requestId } = value as Task;
  check.oneOf(KINDS)(kind, `${field}.kind`);
  check.uuid(instanceUuid, `${field}.instanceUuid`);
  check.text()(requestId, `${field}.requestId`);
};

const COLUMNS: Columns<StoredTask> = {
  id: codec.rowId,
  task: codec.json(taskShape),
  createdAt: codec.time,
};

/** Table `tasks`: the conductor's own work. */
export class Tasks implements TaskStore {
  readonly #context: StoreContext;
  readonly #table: Table<StoredTask>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, "tasks", COLUMNS);
  }

  add(task: Task): StoredTask {
    const { sql, clock, changes } = this.#context;
    return sql.transaction(() => {
      const createdAt = clock.now();
      const id = this.#table.insert({ task, createdAt });
      changes.changed("task", id);
      return { id, task, createdAt };
    });
  }

  pending(): StoredTask[] {
    return this.#table.many("1 ORDER BY id");
  }

  finish(id: number): void {
    this.#context.sql.run("DELETE FROM tasks WHERE id = ?", id);
  }
}
