import type { InstanceParams } from "../conductor/agent-methods.js";
import { InstanceNotFound, UnexpectedDeletingTaskState } from "../conductor/errors.js";
import type { AgentHandlers } from "../conductor/port.js";
import type { Instance } from "../conductor/records/index.js";
import type { Operations } from "./contracts.js";
import { liveMigrationHandlers } from "./live-migration-handlers.js";
import type { StateChangeName } from "./operations/states/state-changes.js";
import type { AgentParts } from "./parts.js";
import type { TaskTracker } from "./task-tracker.js";

/** What the agent does for whoever asks (spec 2.1 row 6). Everything is tracked, so that a shutdown waits for it. */
export function agentHandlers(parts: AgentParts, tasks: TaskTracker): AgentHandlers {
  const { operations, tracker, driver } = parts;

  const load = async (uuid: string, requestId: string): Promise<Instance> => {
    const instance = await parts.conductor.call("instance_get", { uuid }, { requestId });
    if (!instance) {
      throw new InstanceNotFound(`instance ${uuid} is not known, or deleted`);
    }
    return instance;
  };

  /** A cast has nobody who waits: what went wrong is in the instance's fault and in the log. */
  const cast = (
    method: string,
    params: { readonly instanceUuid: string; readonly requestId: string },
    work: () => Promise<void>,
  ): Promise<null> =>
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

  /** A cast about an instance that is on this host. */
  const onInstance = (
    method: string,
    params: { readonly instanceUuid: string; readonly requestId: string },
    work: (instance: Instance) => Promise<void>,
  ): Promise<null> =>
    cast(method, params, async () => {
      const instance = await load(params.instanceUuid, params.requestId);
      if (instance.host === parts.host) return work(instance);
      parts.logger.warn(`${method}: the instance is not on this host; nothing is done`, {
        instance: instance.uuid,
        host: instance.host,
      });
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
    ...changes(operations, onInstance),
    rescue_instance: (params) =>
      onInstance("rescue_instance", params, (instance) =>
        operations.rescueInstance(instance, params.rescueImageRef, params.requestId),
      ),
    shelve_instance: (params) =>
      onInstance("shelve_instance", params, (instance) =>
        operations.shelveInstance(instance, params.imageId, params.requestId),
      ),
    shelve_offload_instance: (params) =>
      onInstance("shelve_offload_instance", params, (instance) =>
        operations.shelveOffloadInstance(instance, params.requestId),
      ),
    unshelve_instance: (params) => cast("unshelve_instance", params, () => operations.unshelveInstance(params)),
    build_and_run_instance: (params) =>
      cast("build_and_run_instance", params, () => operations.buildAndRunInstance(params)),
    terminate_instance: (params) =>
      cast("terminate_instance", params, async () =>
        operations.terminateInstance(await load(params.instanceUuid, params.requestId), params.requestId),
      ),
    rebuild_instance: (params) => cast("rebuild_instance", params, () => operations.rebuildInstance(params)),
    start_instance: (params) =>
      cast("start_instance", params, async () =>
        operations.startInstance(await load(params.instanceUuid, params.requestId), params.requestId),
      ),
    stop_instance: (params) =>
      cast("stop_instance", params, async () =>
        operations.stopInstance(await load(params.instanceUuid, params.requestId), params.requestId),
      ),
    reboot_instance: (params) =>
      cast("reboot_instance", params, async () =>
        operations.rebootInstance(await load(params.instanceUuid, params.requestId), params.type, params.requestId),
      ),
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

type OnInstance = (
  method: string,
  params: { readonly instanceUuid: string; readonly requestId: string },
  work: (instance: Instance) => Promise<void>,
) => Promise<null>;

type ChangeMethod =
  | "pause_instance"
  | "unpause_instance"
  | "suspend_instance"
  | "resume_instance"
  | "unrescue_instance"
  | "soft_delete_instance"
  | "restore_instance";

function changes(operations: Operations, onInstance: OnInstance): Pick<AgentHandlers, ChangeMethod> {
  const change = (method: ChangeMethod, name: StateChangeName) => (params: InstanceParams) =>
    onInstance(method, params, (instance) => operations.changeState(name, instance, params.requestId));
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
