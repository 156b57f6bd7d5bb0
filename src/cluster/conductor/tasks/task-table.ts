import type { TaskTable } from "../task-runner.js";
import { createBuildInstances } from "./build-instances.js";
import { createDeleteLocal } from "./delete-local.js";
import { createRebuildInstance } from "./rebuild-instance.js";
import type { TaskParts } from "./task-parts.js";

/** The flow of each kind of task. */
export const createTaskTable = (parts: TaskParts): TaskTable => ({
  build_instances: createBuildInstances(parts),
  rebuild_instance: createRebuildInstance(parts),
  delete_local: createDeleteLocal(parts),
});
