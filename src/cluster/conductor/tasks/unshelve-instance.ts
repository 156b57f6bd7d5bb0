import type { Task } from "../task.js";
import type { TaskParts } from "./task-parts.js";

type UnshelveTask = Extract<Task, { kind: "unshelve_instance" }>;

export function createUnshelveInstance(_parts: TaskParts) {
  return {
    run: async (_task: UnshelveTask): Promise<void> => undefined,
    fail: (_task: UnshelveTask, _error: unknown): void => undefined,
  };
}
