import type { Task } from "../task.js";
import type { TaskParts } from "./task-parts.js";

type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

export function createMigrateServer(_parts: TaskParts) {
  return {
    run: async (_task: MigrateTask): Promise<void> => undefined,
    fail: (_task: MigrateTask, _error: unknown): void => undefined,
  };
}
