import type { Task } from "../task.js";
import type { TaskParts } from "./task-parts.js";

type LiveTask = Extract<Task, { kind: "live_migrate_instance" }>;

export function createLiveMigrateInstance(_parts: TaskParts) {
  return {
    run: async (_task: LiveTask): Promise<void> => undefined,
    fail: (_task: LiveTask, _error: unknown): void => undefined,
  };
}
