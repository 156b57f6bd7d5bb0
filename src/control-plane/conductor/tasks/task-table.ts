import type { TaskTable } from "../task-runner.js";
import { createBuildInstances } from "./build-instances.js";
import { createDeleteLocal, createDeleteResized } from "./delete-instance.js";
import { createLiveMigrateInstance } from "./live-migrate-instance.js";
import { createMigrateServer } from "./migrate-server.js";
import { createRebuildInPlace } from "./rebuild-in-place.js";
import { createRebuildInstance } from "./rebuild-instance.js";
import type { TaskDeps } from "./task-deps.js";
import { createUnshelveInstance } from "./unshelve-instance.js";

/** Creates the flows of all kinds of tasks. */
export function createTaskTable(deps: TaskDeps): TaskTable {
  return {
    build_instances: createBuildInstances(deps),
    rebuild_instance: createRebuildInstance(deps),
    rebuild_in_place: createRebuildInPlace(deps),
    migrate_server: createMigrateServer(deps),
    live_migrate_instance: createLiveMigrateInstance(deps),
    unshelve_instance: createUnshelveInstance(deps),
    delete_resized: createDeleteResized(deps),
    delete_local: createDeleteLocal(deps),
  };
}
