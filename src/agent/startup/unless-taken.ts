import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import type { ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { Instance } from "../../records/index.js";
import type { AgentView } from "../context.js";

/**
 * Runs start-up work on one instance. While a host starts, users, the conductor and other hosts may delete, move,
 * evacuate or reset the instances that start-up has just read. If another request owns the instance by now, that is
 * logged and start-up continues with the next one (spec 9.2).
 * @throws any other error: a lost lease, a rejection, a failing hypervisor or conductor
 */
export async function unlessTaken(
  { logger }: Pick<AgentView, "logger">,
  fields: { readonly instance: string; readonly migration?: number | undefined },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (!isTaken(err)) {
      throw err;
    }
    logger.info("skipping the instance: another request owns it", { ...fields, err });
  }
}

/**
 * Reads the instance again before a change on the hypervisor or in Placement, which cannot be made conditional like a
 * write of a record.
 * @returns the instance as it is now
 * @throws an error that {@link unlessTaken} handles: the instance has changed since start-up read it
 */
export async function requireAsFound(
  { conductor }: Pick<AgentView, "conductor">,
  { uuid, host, vmState, taskState }: Instance,
): Promise<Instance> {
  const now = await conductor.call("instance_get", { uuid });
  if (now === null) {
    throw new ConductorError("InstanceNotFound", `instance ${uuid} was deleted`, { uuid });
  }
  if (now.host !== host) {
    const text = `instance ${uuid}: host changed: found ${now.host ?? "none"}, expected ${host ?? "none"}`;
    throw new ConductorError("ObjectActionError", text, { uuid, reason: "host changed" });
  }
  if (now.taskState !== taskState) {
    throw new ConductorError(
      "UnexpectedTaskState",
      `instance ${uuid}: found task_state ${now.taskState ?? "none"}, expected ${taskState ?? "none"}`,
    );
  }
  if (now.vmState !== vmState) {
    throw new ConductorError(
      "UnexpectedVmState",
      `instance ${uuid}: found vm_state ${now.vmState}, expected ${vmState}`,
    );
  }
  return now;
}

/**
 * Saves the end of an interrupted move, in both records. If another request owns the instance by now, saves only the
 * migration's, so that the move ends nevertheless.
 * @throws InvalidMigrationState: it has already been ended
 */
export async function endMove(
  { conductor, logger }: Pick<AgentView, "conductor" | "logger">,
  { instance, migration }: ParamsOf<ConductorMethods, "save_together">,
  requestId: string,
): Promise<void> {
  const writes = { ...(instance ? { instance } : {}), ...(migration ? { migration } : {}) };
  try {
    await conductor.call("save_together", writes, { requestId });
  } catch (err) {
    if (!migration || !isTaken(err) || isConductorError(err, "InvalidMigrationState")) {
      throw err;
    }
    const fields = { instance: instance?.uuid, migration: migration.id, request_id: requestId };
    logger.info("another request owns the instance: ending only its move", { ...fields, err });
    await conductor.call("migration_save", migration, { requestId });
  }
}

/** Returns whether the error means that the instance or its move has changed since start-up made its plan. */
function isTaken(error: unknown): boolean {
  return (
    isConductorError(error, ...TAKEN) ||
    (isConductorError(error, "ObjectActionError") && error.data.reason === "host changed")
  );
}

const TAKEN = [
  "InstanceNotFound",
  "UnexpectedTaskState",
  "UnexpectedVmState",
  "MigrationNotFound",
  "InvalidMigrationState",
] as const;

/**
 * Returns whether the message of the request that owns the instance is queued for this host. Then nothing was
 * interrupted, and the message is processed when the host serves. Always false under Nova, whose rows contain no
 * request id.
 */
export async function messageWaits(
  { conductor, host }: Pick<AgentView, "conductor" | "host">,
  { uuid, taskState, taskRequestId }: Instance,
): Promise<boolean> {
  return (
    taskState !== null &&
    taskRequestId !== null &&
    (await conductor.call("instance_in_hand", { uuid, host, requestId: taskRequestId }))
  );
}
