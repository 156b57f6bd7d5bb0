import { isConductorError } from "../../../conductor-client/errors.js";
import type { HostSession } from "../../../conductor-client/port.js";
import type { Instance, InstanceChanges, TaskState } from "../../../records/index.js";
import { publicMessageOf, tracebackOf } from "../../../runtime/error-messages.js";
import { HostEpochOutdated, InstanceFaultRollback, NotImplemented } from "../../../virt/errors.js";
import type { AgentContext } from "../../context.js";
import { HostLeaseLost } from "../../host-lease.js";
import { ignore } from "../../ignore-errors.js";
import type { OperationServices } from "./contract.js";

/** Nova's generic wrappers of agent operations (spec 1.6). All of them rethrow. */

/** The event of a running operation. */
export interface OpenEvent {
  /** The event's id; null if the instance has no action to which the event could belong. */
  readonly id: number | null;
  /** Ends the event as an error although the operation does not throw. */
  fail(error: unknown): void;
  /** Leaves it to the conductor to end the event. */
  handOver(): void;
}

/** Records the operation as an event of the instance's action; administrators see the traceback of a failure. */
export async function withActionEvent<T>(
  context: AgentContext,
  options: { readonly instanceUuid: string; readonly event: string; readonly requestId: string },
  body: (event: OpenEvent) => Promise<T>,
): Promise<T> {
  const { conductor, host } = context;
  const eventId = await conductor.call("instance_action_event_start", { ...options, host });
  let outcome: EventOutcome | null = { result: "Success" };
  const event: OpenEvent = {
    id: eventId,
    fail: (error) => {
      // The conductor ends an event that was handed over to it, whatever happens here afterwards.
      outcome = outcome && failureOf(error);
    },
    handOver: () => {
      outcome = null;
    },
  };
  try {
    return await body(event);
  } catch (error) {
    event.fail(error);
    throw error;
  } finally {
    const end = outcome;
    if (eventId !== null && end !== null) {
      await attempt(context, options.instanceUuid, "finish the action event", () =>
        conductor.call("instance_action_event_finish", { eventId, ...end }),
      );
    }
  }
}

interface EventOutcome {
  readonly result: "Success" | "Error";
  readonly details?: string;
  readonly traceback?: string;
}

function failureOf(error: unknown): EventOutcome {
  const traceback = tracebackOf(error);
  return {
    result: "Error",
    details: publicMessageOf(error),
    ...(traceback === null ? {} : { traceback }),
  };
}

/**
 * Sets the task state to null after any exception but UnexpectedTaskState, if it is still the request's.
 * @internal for tests
 */
export async function revertingTaskState<T>(
  context: AgentContext,
  { instanceUuid, requestId }: { readonly instanceUuid: string; readonly requestId: string },
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!isConductorError(error, "UnexpectedTaskState")) {
      await write(context, instanceUuid, { ofRequest: requestId }, { taskState: null });
    }
    throw error;
  }
}

/** Records any exception but InstanceNotFound as a fault of the instance. */
export async function recordingFault<T>(
  context: AgentContext,
  instanceUuid: string,
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!isConductorError(error, "InstanceNotFound")) {
      await addFault(context, instanceUuid, error);
    }
    throw error;
  }
}

/**
 * Sets the instance to error after an exception, unless it is deleted or another request owns it by now. After
 * NotImplemented and InstanceFaultRollback, which mean that nothing happened, restores its vm_state instead.
 * @throws the inner error of an InstanceFaultRollback
 */
export async function erroringOut<T>(
  context: AgentContext,
  instance: Instance,
  requestId: string,
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (isConductorError(error, "InstanceNotFound", "UnexpectedDeletingTaskState")) {
      throw error;
    }
    const nothingHappened = error instanceof InstanceFaultRollback || error instanceof NotImplemented;
    const changes = { vmState: nothingHappened ? instance.vmState : "error", taskState: null } as const;
    const here = instance.host === context.host ? { expectedHost: context.host } : {};
    await write(context, instance.uuid, { ofRequest: requestId, ...here }, changes);
    throw error instanceof InstanceFaultRollback ? (error.cause ?? error) : error;
  }
}

/** Wraps most operations on a running instance: records the fault, reverts the task state, closes the event. */
export function withActionEventAndFault<T>(
  context: AgentContext,
  options: { readonly instanceUuid: string; readonly event: string; readonly requestId: string },
  body: () => Promise<T>,
): Promise<T> {
  return withActionEvent(context, options, () =>
    recordingFault(context, options.instanceUuid, () => revertingTaskState(context, options, body)),
  );
}

/** Records the error's public message, and its traceback as details, which administrators see. */
export async function addFault(context: AgentContext, instanceUuid: string, error: unknown): Promise<void> {
  const details = tracebackOf(error);
  await attempt(context, instanceUuid, "record the fault", () =>
    context.conductor.call("instance_add_fault", {
      uuid: instanceUuid,
      code: 500,
      message: publicMessageOf(error).slice(0, 255),
      ...(details === null ? {} : { details }),
      host: context.host,
    }),
  );
}

/** Without the host's lease another agent may be acting for the instance. */
export function isLeaseLost(error: unknown): boolean {
  return error instanceof HostLeaseLost || error instanceof HostEpochOutdated;
}

/**
 * Returns whether completed work must be left as after a crash. Either the lease is lost, or a conductor call timed out
 * and may have saved the instance as usable.
 */
export function mustNotUndo(error: unknown): boolean {
  return isLeaseLost(error) || isSilence(error);
}

async function write(
  context: AgentContext,
  uuid: string,
  expected: { readonly ofRequest: string; readonly expectedHost?: string },
  changes: InstanceChanges,
): Promise<void> {
  await attempt(context, uuid, "write the state after the error", () =>
    context.conductor.call("instance_save", { uuid, changes, ...expected }).catch(
      ignore(["UnexpectedTaskState", "ObjectActionError"], (err) =>
        context.logger.info("not saving the state after the error: another request owns the instance", {
          instance: uuid,
          err,
        }),
      ),
    ),
  );
}

/** Logs errors of an error handler, so that they do not hide the error that it handles. Ignores a missing row. */
export async function attempt(
  context: AgentContext,
  instanceUuid: string,
  what: string,
  action: () => Promise<unknown>,
): Promise<void> {
  try {
    await action();
  } catch (err) {
    if (isConductorError(err, "InstanceNotFound", "MigrationNotFound")) {
      return;
    }
    context.logger.error(`could not ${what}`, { instance: instanceUuid, err });
  }
}

/** The conductor did not reply, but may have done the work nevertheless. */
function isSilence(error: unknown): boolean {
  return isConductorError(error, "MessagingTimeout", "ConductorUnreachable");
}

/** Wraps a conductor; calls `onSilence` for each call without a reply, including those whose error is only logged. */
export function watchConductor(conductor: HostSession, onSilence: () => void): HostSession {
  return new Proxy(conductor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") {
        return value;
      }
      if (name !== "call") {
        return value.bind(target);
      }
      return async (...args: readonly unknown[]): Promise<unknown> => {
        try {
          return await Reflect.apply(value, target, args);
        } catch (error) {
          if (isSilence(error)) {
            onSilence();
          }
          throw error;
        }
      };
    },
  });
}

/**
 * Spec 6.2 OPT. A soft delete or an operator's reset has superseded an operation that may have left the instance
 * without its guest. The server must not appear usable: the soft delete may fail or be reverted, and the operator
 * cannot know. The task_state remains the delete's. Any other request handles the guest itself.
 * @param cause the error that ended the operation
 */
export async function setErrorIfSuperseded(
  services: OperationServices,
  instance: Instance,
  cause: unknown,
  changes: InstanceChanges = {},
): Promise<void> {
  if (!isConductorError(cause, "UnexpectedTaskState") || isConductorError(cause, "UnexpectedDeletingTaskState")) {
    return;
  }
  await errorWhileSoftDeleting(services, instance, changes);
  await errorAfterReset(services, instance, changes);
}

/** Does nothing if the soft delete has ended, or another request has taken the instance from it. */
export async function errorWhileSoftDeleting(
  services: OperationServices,
  instance: Instance,
  changes: InstanceChanges = {},
): Promise<void> {
  await attempt(services, instance.uuid, "set the instance to error", () =>
    saveError(services, instance, changes, "soft-deleting"),
  );
}

/**
 * No operation runs on it, and the guest is missing: a request that has created it again since would have done so under
 * the instance's lock.
 */
async function errorAfterReset(
  services: OperationServices,
  { uuid }: Instance,
  changes: InstanceChanges,
): Promise<void> {
  const { conductor, driver, host } = services;
  await attempt(services, uuid, "set the instance to error", async () => {
    const now = await conductor.call("instance_get", { uuid });
    const isUsable = now?.host === host && now.taskState === null && now.vmState === "active";
    if (isUsable && !(await driver.instanceExists(now))) {
      await saveError(services, now, changes, null);
    }
  });
}

async function saveError(
  { tracker }: OperationServices,
  instance: Instance,
  changes: InstanceChanges,
  expected: TaskState | null,
): Promise<void> {
  await tracker
    .saveInstance(instance, { ...changes, vmState: "error" }, [expected])
    .catch(ignore(["UnexpectedTaskState", "ObjectActionError"]));
}
