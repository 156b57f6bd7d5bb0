import {
  ConductorUnreachable,
  InstanceNotFound,
  MessagingTimeout,
  MigrationNotFound,
  ObjectActionError,
  UnexpectedDeletingTaskState,
  UnexpectedTaskState,
} from "../../../conductor-client/errors.js";
import type { HostSession } from "../../../conductor-client/port.js";
import type { Instance, InstanceChanges, TaskState } from "../../../records/index.js";
import { publicMessageOf, tracebackOf } from "../../../runtime/error-messages.js";
import { HostEpochOutdated, InstanceFaultRollback, NotImplemented } from "../../../virt/errors.js";
import type { AgentContext } from "../../context.js";
import { HostLeaseLost } from "../../host-lease.js";
import type { OperationServices } from "./contract.js";

/** Nova's generic wrappers of agent operations (spec 1.6). All of them rethrow. */

/** The event of an operation that is under way. */
export interface OpenEvent {
  /** Null: the instance has no action that it could belong to. */
  readonly id: number | null;
  /** It ends as an error although the operation throws none. */
  fail(error: unknown): void;
  /** The conductor ends it. */
  handOver(): void;
}

/** Records the operation as an event of the instance's action; administrators see the traceback of one that failed. */
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
      // The conductor ends an event that was handed over to it, whatever follows here.
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
 * An exception other than UnexpectedTaskState sets the task state to null, if it still is the request's.
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
    if (!(error instanceof UnexpectedTaskState)) {
      await write(context, instanceUuid, { ofRequest: requestId }, { taskState: null });
    }
    throw error;
  }
}

/** An exception other than InstanceNotFound becomes a fault of the instance. */
export async function recordingFault<T>(
  context: AgentContext,
  instanceUuid: string,
  body: () => Promise<T>,
): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof InstanceNotFound)) {
      await addFault(context, instanceUuid, error);
    }
    throw error;
  }
}

/**
 * An exception sets the instance to error, unless it is deleted, or another request's by now. NotImplemented and InstanceFaultRollback, which say that nothing happened, give
 * it back its vm_state instead.
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
    if (error instanceof InstanceNotFound || error instanceof UnexpectedDeletingTaskState) {
      throw error;
    }
    const nothingHappened = error instanceof InstanceFaultRollback || error instanceof NotImplemented;
    const changes = { vmState: nothingHappened ? instance.vmState : "error", taskState: null } as const;
    const here = instance.host === context.host ? { expectedHost: context.host } : {};
    await write(context, instance.uuid, { ofRequest: requestId, ...here }, changes);
    throw error instanceof InstanceFaultRollback ? (error.cause ?? error) : error;
  }
}

/** Fault recorded, task state reverted, event closed: how most operations on a running instance are wrapped. */
export function withActionEventAndFault<T>(
  context: AgentContext,
  options: { readonly instanceUuid: string; readonly event: string; readonly requestId: string },
  body: () => Promise<T>,
): Promise<T> {
  return withActionEvent(context, options, () =>
    recordingFault(context, options.instanceUuid, () => revertingTaskState(context, options, body)),
  );
}

/** Records what everybody may read of the error as the message, and all of it as the details, which administrators see. */
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
 * Whether what was done must be left as it is, as after a crash: the lease is lost, or the conductor did not answer and
 * may have written that the guest is wanted.
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
  await attempt(context, uuid, "write the state after the error", async () => {
    try {
      await context.conductor.call("instance_save", { uuid, changes, ...expected });
    } catch (err) {
      if (!(err instanceof UnexpectedTaskState || err instanceof ObjectActionError)) {
        throw err;
      }
      context.runtime.logger.info("the state after the error is not written: somebody else has the instance", {
        instance: uuid,
        err,
      });
    }
  });
}

/** What an error handler does must not hide the error it handles; a row that is gone needs nothing. */
export async function attempt(
  context: AgentContext,
  instanceUuid: string,
  what: string,
  action: () => Promise<unknown>,
): Promise<void> {
  try {
    await action();
  } catch (err) {
    if (err instanceof InstanceNotFound || err instanceof MigrationNotFound) {
      return;
    }
    context.runtime.logger.error(`could not ${what}`, { instance: instanceUuid, err });
  }
}

/** The conductor did not answer, and may have done what it was asked all the same. */
function isSilence(error: unknown): boolean {
  return error instanceof MessagingTimeout || error instanceof ConductorUnreachable;
}

/** The same conductor; `onSilence` hears of each call that it did not answer, also of those whose error is only logged. */
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
 * Spec 6.2 OPT. A soft delete, or an operator who has reset the state, has overtaken an operation that may have left the instance
 * without its guest: the server must not look usable afterwards, since the soft delete may fail, or be taken back, and the operator
 * cannot know. The task_state stays the delete's; any other request sees to the guest itself.
 * @param cause what ended the operation
 */
export async function setErrorIfSuperseded(
  services: OperationServices,
  instance: Instance,
  cause: unknown,
  changes: InstanceChanges = {},
): Promise<void> {
  if (!(cause instanceof UnexpectedTaskState) || cause instanceof UnexpectedDeletingTaskState) {
    return;
  }
  await errorWhileSoftDeleting(services, instance, changes);
  await errorAfterReset(services, instance, changes);
}

/** Unless the soft delete has ended, or somebody has taken the instance from it. */
export async function errorWhileSoftDeleting(
  services: OperationServices,
  instance: Instance,
  changes: InstanceChanges = {},
): Promise<void> {
  await attempt(services.context, instance.uuid, "set the instance to error", () =>
    saveError(services, instance, changes, "soft-deleting"),
  );
}

/** Nobody does anything to it, and the guest is not here: who has made it anew since has done so under the instance's lock. */
async function errorAfterReset(
  services: OperationServices,
  { uuid }: Instance,
  changes: InstanceChanges,
): Promise<void> {
  const { conductor, driver, host } = services.context;
  await attempt(services.context, uuid, "set the instance to error", async () => {
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
  try {
    await tracker.saveInstance(instance, { ...changes, vmState: "error" }, [expected]);
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState || error instanceof ObjectActionError)) {
      throw error;
    }
  }
}
