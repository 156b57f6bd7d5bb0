import { InstanceNotFound } from "../conductor/errors.js";
import type { AgentHandlers } from "../conductor/port.js";
import type { Instance } from "../conductor/records/index.js";
import { NOT_IMPLEMENTED } from "./not-implemented.js";
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
        await work();
      } catch (error) {
        if (error instanceof InstanceNotFound) {
          logger.info(`${method}: the instance is gone`);
        } else {
          logger.error(`${method} failed`, { err: error });
        }
      }
      return null;
    });

  return {
    ...NOT_IMPLEMENTED,
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
    set_host_enabled: ({ enabled }) =>
      tasks.run(async () => {
        await driver.setHostEnabled(enabled);
        await tracker.setHostEnabled(enabled);
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
