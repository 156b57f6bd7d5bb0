import type { Task } from "../../store/tasks.js";
import type { TaskTable } from "../task-runner.js";
import { buildInstance, giveUpBuild } from "./build-instances.js";
import { deleteLocal, deleteResized } from "./delete-instance.js";
import { endTask } from "./faults.js";
import { failLiveMigration, liveMigrate } from "./live-migrate-instance.js";
import { failMigrate, migrateServer } from "./migrate-server.js";
import { rebuildInPlace, rejectRebuild } from "./rebuild-in-place.js";
import { evacuate, failEvacuation } from "./rebuild-instance.js";
import type { TaskDeps } from "./task-deps.js";
import { unshelveInstance } from "./unshelve-instance.js";

/** Creates the flows of all kinds of tasks. */
export function createTaskTable(deps: TaskDeps): TaskTable {
  /** Leaves the instance in error, so that the user can try again. */
  const setToError = (task: Task, error: unknown) => endTask(deps.store, task, "error", error);
  return {
    build_instances: {
      run: (task, context) => buildInstance(deps, task, context),
      fail: (task, error) => giveUpBuild(deps, task, error),
    },
    rebuild_instance: {
      run: (task, context) => evacuate(deps, task, context),
      fail: (task, error) => failEvacuation(deps, task, "error", error),
    },
    rebuild_in_place: {
      run: (task, context) => rebuildInPlace(deps, task, context),
      fail: (task, error) => rejectRebuild(deps, task, error),
    },
    migrate_server: {
      run: (task, context) => migrateServer(deps, task, context),
      fail: (task, error) => failMigrate(deps, task, error),
    },
    live_migrate_instance: {
      run: (task, context) => liveMigrate(deps, task, context),
      fail: (task, error) => failLiveMigration(deps, task, error),
    },
    unshelve_instance: {
      run: (task, context) => unshelveInstance(deps, task, context),
      fail: (task, error) => endTask(deps.store, task, undefined, error),
    },
    delete_resized: { run: (task, context) => deleteResized(deps, task, context), fail: setToError },
    delete_local: { run: (task, context) => deleteLocal(deps, task, context), fail: setToError },
    block_storage: {
      run: ({ instanceUuid: id, ...work }, context) => deps.blockStorage.run({ ...work, id }, () => context.finish()),
      fail: ({ instanceUuid: id, ...work }) => deps.blockStorage.fail({ ...work, id }),
    },
  };
}
