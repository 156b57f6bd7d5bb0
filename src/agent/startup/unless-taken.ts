import {
  InstanceNotFound,
  InvalidMigrationState,
  MigrationNotFound,
  ObjectActionError,
  UnexpectedTaskState,
  UnexpectedVmState,
} from "../../conductor-client/errors.js";
import type { ConductorMethods } from "../../conductor-client/methods/conductor.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import type { Instance } from "../../records/index.js";
import type { AgentView } from "../context.js";

/**
 * Does the start-up work about one instance. While a host starts, users, the conductor and other hosts go on: they may delete,
 * move, evacuate or reset what start-up has just read. An instance that somebody else has by now is theirs; that is logged,
 * and start-up goes on with the next one (spec 9.2).
 * @throws every other error: a lost lease, a refusal, a hypervisor or a conductor that fails
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
    logger.info("somebody else has the instance by now: start-up leaves it", { ...fields, err });
  }
}

/**
 * Stands before what cannot be expected of a write: of the hypervisor, of Placement.
 * @returns the instance as it is now
 * @throws an error that {@link unlessTaken} takes: it is not as start-up found it
 */
export async function requireAsFound(
  { conductor }: Pick<AgentView, "conductor">,
  { uuid, host, vmState, taskState }: Instance,
): Promise<Instance> {
  const now = await conductor.call("instance_get", { uuid });
  if (now === null) {
    throw new InstanceNotFound(`instance ${uuid} was deleted`, { uuid });
  }
  if (now.host !== host) {
    const text = `instance ${uuid}: host changed: found ${now.host ?? "none"}, expected ${host ?? "none"}`;
    throw new ObjectActionError(text, { uuid, reason: "host changed" });
  }
  if (now.taskState !== taskState) {
    throw new UnexpectedTaskState(
      `instance ${uuid}: found task_state ${now.taskState ?? "none"}, expected ${taskState ?? "none"}`,
    );
  }
  if (now.vmState !== vmState) {
    throw new UnexpectedVmState(`instance ${uuid}: found vm_state ${now.vmState}, expected ${vmState}`);
  }
  return now;
}

/**
 * The last write about a move that died halfway: both records; only the migration's when the instance is somebody else's by
 * now, so that the move ends all the same.
 * @throws InvalidMigrationState: somebody else has ended it
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
    if (!migration || !isTaken(err) || err instanceof InvalidMigrationState) {
      throw err;
    }
    const fields = { instance: instance?.uuid, migration: migration.id, request_id: requestId };
    logger.info("somebody else has the instance by now: only its move is ended", { ...fields, err });
    await conductor.call("migration_save", migration, { requestId });
  }
}

/** The records say that the instance, or its move, is not what it was when start-up decided what to do. */
function isTaken(error: unknown): boolean {
  return (
    TAKEN.some((kind) => error instanceof kind) ||
    (error instanceof ObjectActionError && error.data.reason === "host changed")
  );
}

const TAKEN = [InstanceNotFound, UnexpectedTaskState, UnexpectedVmState, MigrationNotFound, InvalidMigrationState];

/**
 * Whether the message of the request that has the instance waits for this host: nothing was interrupted then, and the message is
 * carried out when the host serves. No Nova can tell; its rows know no request.
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
