import { InstanceNotFound, UnexpectedDeletingTaskState } from "../../conductor/errors.js";
import { AGENT_METHODS, type AgentMethod } from "../../conductor/methods/agent.js";
import type { AgentHandlers } from "../../conductor/port.js";
import { hearEvents } from "../network/hear-events.js";
import type { Asker, HostMethod, InstanceMethod, RequestOf } from "../operations/contract.js";
import { OPERATIONS } from "../operations/table.js";
import type { AgentServices } from "../services.js";
import { consoleOutput, diagnostics, hostUptime, instanceDiagnostics } from "./guest-reports.js";
import { listGuests } from "./list-guests.js";
import type { TaskTracker } from "./task-tracker.js";

type OperationHandlers = Pick<AgentHandlers, InstanceMethod>;

/** What the agent does when it is asked to (spec 2.1 row 6). Everything is tracked, so that a shutdown waits for it. */
export function agentHandlers(services: AgentServices, tasks: TaskTracker): AgentHandlers {
  const handlers = INSTANCE_METHODS.map((method) => [method, operationHandler(services, tasks, method)]);
  return { ...(Object.fromEntries(handlers) as OperationHandlers), ...hostHandlers(services, tasks) };
}

/**
 * What an agent that stops still takes (spec 2.8): it begins nothing, and ends what it has begun. That is what the other host
 * of a move asks in its middle, and what stops one (Nova's topic `compute-alt`).
 */
export function drainingHandlers(services: AgentServices, tasks: TaskTracker): Partial<AgentHandlers> {
  const handlers = agentHandlers(services, tasks);
  return Object.fromEntries(TAKEN_WHILE_DRAINING.map((method) => [method, handlers[method]]));
}

/** An evacuation has no message of its own: it comes as a rebuild. */
const INSTANCE_METHODS = Object.keys(OPERATIONS).filter((name): name is InstanceMethod => name !== "evacuate_instance");

const TAKEN_WHILE_DRAINING: readonly AgentMethod[] = [
  ...INSTANCE_METHODS.filter((method) => OPERATIONS[method].whileDraining),
  "migration_ended",
  "external_instance_event",
  "check_instance_shared_storage",
];

function operationHandler<M extends InstanceMethod>(services: AgentServices, tasks: TaskTracker, method: M) {
  const carryOut = AGENT_METHODS[method].kind === "cast" ? runCast : runOperation;
  const { clock } = services.runtime;
  return (params: RequestOf<M>, asker: Asker) =>
    tasks.run(async () => {
      const began = clock.monotonic();
      try {
        return await carryOut(services, method, params, asker);
      } finally {
        services.logger.info(`${method} has ended`, {
          request_id: params.requestId,
          instance: params.instanceUuid,
          ms: Math.round(clock.monotonic() - began),
        });
      }
    });
}

function runOperation<M extends InstanceMethod>(
  { operations, driver }: AgentServices,
  method: M,
  params: RequestOf<M>,
  asker: Asker,
) {
  return driver.onBehalf(params.instanceUuid, params.requestId, () => operations.run(method, params, asker));
}

/** Nobody waits for a cast: what went wrong is in the instance's fault and in the log. */
async function runCast<M extends InstanceMethod>(
  services: AgentServices,
  method: M,
  params: RequestOf<M>,
  asker: Asker,
): Promise<null> {
  const log = services.logger.child({ request_id: params.requestId, instance: params.instanceUuid });
  log.debug(`received ${method}`);
  try {
    await runOperation(services, method, params, asker);
  } catch (error) {
    if (error instanceof InstanceNotFound) {
      log.info(`${method}: the instance is gone`);
    } else if (error instanceof UnexpectedDeletingTaskState) {
      log.info(`${method}: the instance is being deleted`);
    } else {
      log.error(`${method} failed`, { err: error });
    }
  }
  return null;
}

function hostHandlers(services: AgentServices, tasks: TaskTracker): Pick<AgentHandlers, HostMethod> {
  const { operations, tracker, driver, logger } = services;
  return {
    list_guests: () => tasks.run(() => listGuests(services)),
    get_host_uptime: () => tasks.run(() => hostUptime(services)),
    get_console_output: (params) => tasks.run(() => consoleOutput(services, params)),
    get_diagnostics: (params) => tasks.run(() => diagnostics(services, params)),
    get_instance_diagnostics: (params) => tasks.run(() => instanceDiagnostics(services, params)),
    migration_ended: async ({ migrationId }) => {
      operations.incoming.end(migrationId);
      return null;
    },
    external_instance_event: (params) => tasks.run(() => hearEvents(services, params)),
    set_host_enabled: ({ enabled }, { requestId }) =>
      tasks.run(async () => {
        await driver.setHostEnabled(enabled);
        await tracker.setHostEnabled(enabled, requestId);
        return enabled ? "enabled" : "disabled";
      }),
    check_instance_shared_storage: ({ instanceUuid, token }, { requestId }) =>
      tasks.run(async () => {
        const visible = await driver.checkInstanceSharedStorageRemote(token);
        logger.debug(`the source's storage is ${visible ? "" : "not "}visible here`, {
          instance: instanceUuid,
          request_id: requestId,
        });
        return visible;
      }),
  };
}
