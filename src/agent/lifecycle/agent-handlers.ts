import { isConductorError } from "../../conductor-client/errors.js";
import { AGENT_METHODS, type AgentMethod, type AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { AgentHandlers } from "../../conductor-client/port.js";
import { SparseSet } from "../../runtime/collections.js";
import type { Caller, HostMethod, InstanceMethod, RequestOf } from "../operations/flow/contract.js";
import { OPERATIONS } from "../operations/table.js";
import type { AgentServices } from "../services.js";
import { consoleOutput, diagnostics, hostUptime, instanceDiagnostics, listGuests } from "./guest-reports.js";

/** Tracks running requests, so that a shutdown can wait for them (spec 2.8). */
export class TaskTracker {
  readonly #running = new SparseSet<Promise<unknown>>();

  get size(): number {
    return this.#running.size;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    const running = task();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Resolves when no request is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running);
    }
  }
}

/** `this` of the handlers: the agent that received the request. */
interface HandlerContext {
  readonly services: AgentServices;
  readonly tasks: TaskTracker;
}

type BoundHandlers<M extends AgentMethod = AgentMethod> = {
  readonly [K in M]: (this: HandlerContext, ...args: Parameters<AgentHandlers[K]>) => ReturnType<AgentHandlers[K]>;
};

/**
 * Creates the handlers of the agent's RPC methods (spec 2.1 row 6). All are tracked, so that a shutdown waits for them.
 * The functions are shared by all hosts of a process, which may be thousands.
 */
export function agentHandlers(services: AgentServices, tasks: TaskTracker): AgentHandlers {
  return bindHandlers(HANDLERS, { services, tasks });
}

/**
 * Creates the handlers of a draining agent (spec 2.8). It begins nothing new and finishes running operations. It still
 * accepts the calls that the other host sends during a move, and those that stop a move (Nova's topic `compute-alt`).
 */
export function drainingHandlers(services: AgentServices, tasks: TaskTracker): Partial<AgentHandlers> {
  return bindHandlers(DRAINING_HANDLERS, { services, tasks });
}

function bindHandlers<T extends Partial<BoundHandlers>>(
  handlers: T,
  context: HandlerContext,
): Pick<AgentHandlers, keyof T & AgentMethod> {
  return Object.assign(Object.create(handlers), context);
}

/** An evacuation has no message of its own: it arrives as a rebuild. */
const INSTANCE_METHODS = Object.keys(OPERATIONS).filter((name): name is InstanceMethod => name !== "evacuate_instance");

const TAKEN_WHILE_DRAINING: readonly AgentMethod[] = [
  ...INSTANCE_METHODS.filter((method) => OPERATIONS[method].whileDraining),
  "migration_ended",
  "external_instance_event",
  "check_instance_shared_storage",
];

function operationHandler<M extends InstanceMethod>(method: M) {
  const carryOut = AGENT_METHODS[method].kind === "cast" ? runCast : runOperation;
  return function (this: HandlerContext, params: RequestOf<M>, caller: Caller) {
    const { services, tasks } = this;
    return tasks.run(async () => {
      const { clock } = services.runtime;
      const began = clock.monotonic();
      try {
        return await carryOut(services, method, params, caller);
      } finally {
        services.logger.info(`${method} finished`, {
          request_id: params.requestId,
          instance: params.instanceUuid,
          ms: Math.round(clock.monotonic() - began),
        });
      }
    });
  };
}

function runOperation<M extends InstanceMethod>(
  { operations, driver }: AgentServices,
  method: M,
  params: RequestOf<M>,
  caller: Caller,
) {
  return driver.onBehalf(params.instanceUuid, params.requestId, () => operations.run(method, params, caller));
}

/** A cast has no caller that waits: errors go to the instance's fault and to the log. */
async function runCast<M extends InstanceMethod>(
  services: AgentServices,
  method: M,
  params: RequestOf<M>,
  caller: Caller,
): Promise<null> {
  const log = services.logger.child({ request_id: params.requestId, instance: params.instanceUuid });
  log.debug(`received ${method}`);
  try {
    await runOperation(services, method, params, caller);
  } catch (error) {
    if (isConductorError(error, "InstanceNotFound")) {
      log.info(`${method}: the instance is gone`);
    } else if (isConductorError(error, "UnexpectedDeletingTaskState")) {
      log.info(`${method}: the instance is being deleted`);
    } else {
      log.error(`${method} failed`, { err: error });
    }
  }
  return null;
}

const HOST_HANDLERS: BoundHandlers<HostMethod> = {
  list_guests() {
    return this.tasks.run(() => listGuests(this.services));
  },
  get_host_uptime() {
    return this.tasks.run(() => hostUptime(this.services));
  },
  get_console_output(params) {
    return this.tasks.run(() => consoleOutput(this.services, params));
  },
  get_diagnostics(params) {
    return this.tasks.run(() => diagnostics(this.services, params));
  },
  get_instance_diagnostics(params) {
    return this.tasks.run(() => instanceDiagnostics(this.services, params));
  },
  async migration_ended({ migrationId }) {
    this.services.operations.incoming.end(migrationId);
    return null;
  },
  external_instance_event(params, { requestId }) {
    return this.tasks.run(() => onInstanceEvents(this.services, params, requestId));
  },
  set_host_enabled({ enabled }, { requestId }) {
    const { driver, tracker } = this.services;
    return this.tasks.run(async () => {
      await driver.setHostEnabled(enabled);
      await tracker.setHostEnabled(enabled, requestId);
      return enabled ? "enabled" : "disabled";
    });
  },
  check_instance_shared_storage({ instanceUuid, token }, { requestId }) {
    const { driver, logger } = this.services;
    return this.tasks.run(async () => {
      const visible = await driver.checkInstanceSharedStorageRemote(token);
      logger.debug(`the source's storage is ${visible ? "" : "not "}visible here`, {
        instance: instanceUuid,
        request_id: requestId,
      });
      return visible;
    });
  },
};

const HANDLERS = {
  ...Object.fromEntries(INSTANCE_METHODS.map((method) => [method, operationHandler(method)])),
  ...HOST_HANDLERS,
} as BoundHandlers;

const DRAINING_HANDLERS: Partial<BoundHandlers> = Object.fromEntries(
  TAKEN_WHILE_DRAINING.map((method) => [method, HANDLERS[method]]),
);

/**
 * Delivers events to the operations that wait for them. Reconnects a changed network; applies a power-update to the
 * instance's state, and the new size of a volume to its guest. No operation waits for these, so their errors are logged.
 */
async function onInstanceEvents(
  services: AgentServices,
  { instanceUuid, events }: ParamsOf<AgentMethods, "external_instance_event">,
  requestId: string,
): Promise<null> {
  const { ports, driver, conductor, host, logger } = services;
  for (const event of events) {
    if (event.name === "power-update") {
      const update = { instanceUuid, requestId, target: event.tag };
      const updating = driver.onBehalf(instanceUuid, requestId, () => services.operations.updatePower(update));
      await updating.catch((err: unknown) => {
        logger.error(`power-update ${event.tag} failed`, { instance: instanceUuid, request_id: requestId, err });
      });
      continue;
    }
    if (event.name === "volume-extended" && event.tag !== null) {
      const extension = { instanceUuid, requestId, volumeId: event.tag };
      const extending = driver.onBehalf(instanceUuid, requestId, () => services.operations.extendVolume(extension));
      await extending.catch((err: unknown) => {
        logger.error(`volume-extended ${event.tag} failed`, { instance: instanceUuid, request_id: requestId, err });
      });
      continue;
    }
    const taken = ports.events.deliver(instanceUuid, event);
    const what = taken ? "delivered to a waiting operation" : "received; no operation waits for it";
    logger.debug(`${event.name} ${what}`, { instance: instanceUuid, tag: event.tag });
  }
  if (!events.some(({ name }) => name === "network-changed")) {
    return null;
  }
  const instance = await conductor.call("instance_get", { uuid: instanceUuid });
  if (instance?.host !== host) {
    return null;
  }
  try {
    if (driver.supports("plugVifs")) {
      await driver.plugVifs(instance);
    } else {
      await ports.connected(instanceUuid, await ports.of(instance));
    }
  } catch (err) {
    logger.error("could not connect the changed network of an instance", { instance: instanceUuid, err });
  }
  return null;
}
