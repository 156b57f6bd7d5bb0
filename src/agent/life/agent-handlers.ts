import { InstanceNotFound, UnexpectedDeletingTaskState } from "../../conductor/errors.js";
import type { InstanceParams } from "../../conductor/methods/agent.js";
import type { AgentHandlers } from "../../conductor/port.js";
import type { Operations } from "../operations/contract.js";
import type { StateChangeName } from "../operations/states/state-changes.js";
import type { AgentParts } from "../parts.js";
import { liveMigrationHandlers } from "./live-migration-handlers.js";
import type { TaskTracker } from "./task-tracker.js";

/** What the agent does for whoever asks (spec 2.1 row 6). Everything is tracked, so that a shutdown waits for it. */
export function agentHandlers(parts: AgentParts, tasks: TaskTracker): AgentHandlers {
  const { operations, tracker, driver } = parts;

  /** Nobody waits for a cast: what went wrong is in the instance's fault and in the log. */
  const cast: Cast = (method, params, work) =>
    tasks.run(async () => {
      const logger = parts.logger.child({ request_id: params.requestId, instance: params.instanceUuid });
      logger.debug(`received ${method}`);
      try {
        await driver.onBehalf(params.instanceUuid, params.requestId, work);
      } catch (error) {
        if (error instanceof InstanceNotFound) {
          logger.info(`${method}: the instance is gone`);
        } else if (error instanceof UnexpectedDeletingTaskState) {
          logger.info(`${method}: the instance is being deleted`);
        } else {
          logger.error(`${method} failed`, { err: error });
        }
      }
      return null;
    });

  return {
    ...liveMigrationHandlers(operations.liveMigrations, tasks, cast),
    prep_resize: (params) => cast("prep_resize", params, () => operations.prepResize(params)),
    resize_instance: (params) => cast("resize_instance", params, () => operations.resizeInstance(params)),
    finish_resize: (params) => cast("finish_resize", params, () => operations.finishResize(params)),
    // The API calls it before it deletes a resized server, and has to know whether it failed.
    confirm_resize: (params) =>
      tasks.run(async () => {
        await driver.onBehalf(params.instanceUuid, params.requestId, () => operations.confirmResize(params));
        return null;
      }),
    revert_resize: (params) => cast("revert_resize", params, () => operations.revertResize(params)),
    finish_revert_resize: (params) => cast("finish_revert_resize", params, () => operations.finishRevertResize(params)),
    ...changes(operations, cast),
    rescue_instance: (params) =>
      cast("rescue_instance", params, () =>
        operations.rescueInstance(named(params), params.rescueImageRef, params.requestId),
      ),
    shelve_instance: (params) =>
      cast("shelve_instance", params, () => operations.shelveInstance(named(params), params.imageId, params.requestId)),
    shelve_offload_instance: (params) =>
      cast("shelve_offload_instance", params, () => operations.shelveOffloadInstance(named(params), params.requestId)),
    unshelve_instance: (params) => cast("unshelve_instance", params, () => operations.unshelveInstance(params)),
    build_and_run_instance: (params) =>
      cast("build_and_run_instance", params, () => operations.buildAndRunInstance(params)),
    terminate_instance: (params) =>
      cast("terminate_instance", params, () => operations.terminateInstance(named(params), params.requestId)),
    rebuild_instance: (params) => cast("rebuild_instance", params, () => operations.rebuildInstance(params)),
    start_instance: (params) =>
      cast("start_instance", params, () => operations.startInstance(named(params), params.requestId)),
    stop_instance: (params) =>
      cast("stop_instance", params, () => operations.stopInstance(named(params), params.requestId)),
    reboot_instance: (params) =>
      cast("reboot_instance", params, () => operations.rebootInstance(named(params), params.type, params.requestId)),
    migration_ended: async ({ migrationId }) => {
      operations.incoming.end(migrationId);
      return null;
    },
    set_host_enabled: ({ enabled }, { requestId }) =>
      tasks.run(async () => {
        await driver.setHostEnabled(enabled);
        await tracker.setHostEnabled(enabled, requestId);
        return enabled ? "enabled" : "disabled";
      }),
    check_instance_shared_storage: ({ instanceUuid, token }, { requestId }) =>
      tasks.run(async () => {
        const visible = await driver.checkInstanceSharedStorageRemote(token);
        parts.logger.debug(`the source's storage is ${visible ? "" : "not "}visible here`, {
          instance: instanceUuid,
          request_id: requestId,
        });
        return visible;
      }),
  };
}

type Cast = (method: string, params: InstanceParams, work: () => Promise<void>) => Promise<null>;

/** Where the instance is now, and whose, the operation asks under the instance's lock. */
const named = ({ instanceUuid }: InstanceParams) => ({ uuid: instanceUuid });

type ChangeMethod =
  | "pause_instance"
  | "unpause_instance"
  | "suspend_instance"
  | "resume_instance"
  | "unrescue_instance"
  | "soft_delete_instance"
  | "restore_instance";

function changes(operations: Operations, cast: Cast): Pick<AgentHandlers, ChangeMethod> {
  const change = (method: ChangeMethod, name: StateChangeName) => (params: InstanceParams) =>
    cast(method, params, () => operations.changeState(name, named(params), params.requestId));
  return {
    pause_instance: change("pause_instance", "pause"),
    unpause_instance: change("unpause_instance", "unpause"),
    suspend_instance: change("suspend_instance", "suspend"),
    resume_instance: change("resume_instance", "resume"),
    unrescue_instance: change("unrescue_instance", "unrescue"),
    soft_delete_instance: change("soft_delete_instance", "softDelete"),
    restore_instance: change("restore_instance", "restore"),
  };
}
