import type { TaskTable } from "../task-runner.js";
import { createBuildInstances } from "./build-instances.js";
import { createDeleteLocal } from "./delete-local.js";
import { createDeleteResized } from "./delete-resized.js";
import { createLiveMigrateInstance } from "./live-migrate-instance.js";
import { createMigrateServer } from "./migrate-server.js";
import { createRebuildInstance } from "./rebuild-instance.js";
import type { TaskParts } from "./task-parts.js";
import { createUnshelveInstance } from "./unshelve-instance.js";

/** The flow of each kind of task. */
export function createTaskTable(parts: TaskParts): TaskTable {
  return {
    build_instances: createBuildInstances(parts),
    rebuild_instance: createRebuildInstance(parts),
    migrate_server: createMigrateServer(parts),
    live_migrate_instance: createLiveMigrateInstance(parts),
    unshelve_instance: createUnshelveInstance(parts),
    delete_resized: createDeleteResized(parts),
    delete_local: createDeleteLocal(parts),
  };
}
