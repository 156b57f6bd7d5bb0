import { ConductorError, MessagingTimeout, ObjectActionError } from "../../../conductor-client/errors.js";
import type { AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import {
  FINAL_MIGRATION_STATUSES,
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
  type MigrationChanges,
  type MigrationStatus,
} from "../../../records/index.js";
import { retry } from "../../../runtime/retry.js";
import { LOCAL_DISKS } from "../../../virt/driver-host.js";
import type { LiveMigrateData } from "../../../virt/move-methods.js";
import type { OperationServices } from "../flow/contract.js";
import { OperationError } from "../flow/destination-checks.js";
import { type DestinationMethod, type OutgoingMigration, TIMEOUTS } from "../flow/outgoing-migrations.js";

/** How the driver, or what came before it, ended. */
type CopyOutcome = "moved" | "failed" | "cancelled";

/** One live migration on its source, from the queue to its end. */
export interface Flow {
  readonly services: OperationServices;
  readonly requestId: string;
  readonly entry: OutgoingMigration;
  /** Name of the destination's host. */
  readonly dest: string;
  instance: Instance;
  migration: Migration;
  /** As the last of the two drivers left it. */
  data: LiveMigrateData;
  /** The destination was asked to make something ready. */
  prepared: boolean;
  /** The driver was asked to move the guest: from then on only it knows where the guest is. */
  copying: boolean;
  outcome: CopyOutcome | null;
  /** What the migration's record has not yet of how far the copy came. */
  progress: MigrationChanges;
  /** What the records get when it is taken back. */
  end: { readonly status: MigrationStatus; readonly vmState?: "error" };
  /** It is recovered: a host that does not answer is asked again later, and nothing is forced. */
  readonly isRecovery: boolean;
  /** The records of the destination's half are written already, or never will be. */
  arrived: boolean;
  /** What has gone wrong on the way to the end. */
  error: unknown;
}

export function fieldsOf({ instance, migration }: Pick<Flow, "instance" | "migration">) {
  return {
    instance: instance.uuid,
    migration: migration.id,
  };
}

/** Data of a peer's driver, of which only the peer can say more. Files that may be shared are taken to be. */
export function driverData(data: Readonly<Record<string, unknown>>): LiveMigrateData {
  return {
    ...data,
    blockMigration: data.blockMigration === true,
    sharedInstanceFiles: data.sharedInstanceFiles !== false,
  };
}

/** What the driver's steps before and after the copy are given. */
export const moveOptions = (data: LiveMigrateData) => ({ network: [], blockDevices: LOCAL_DISKS, data });

/** The destination did not do what it was asked. */
export class DestinationFailed extends OperationError {
  override readonly name = "DestinationFailed";
  /** Nobody answered; whether it was done is unknown. */
  readonly silent: boolean;
  /** It says that the guest is not there. */
  readonly hasNoGuest: boolean;
  /** It says that a guest runs there, which it does not remove unasked. */
  readonly guestRuns: boolean;

  constructor(host: string, method: DestinationMethod, cause: ConductorError) {
    super(`destination ${host} of the live migration could not ${method}: ${cause.message}`, { cause });
    this.silent = cause instanceof MessagingTimeout;
    const reason = cause instanceof ObjectActionError ? cause.data.reason : undefined;
    this.hasNoGuest = reason === NO_GUEST;
    this.guestRuns = reason === GUEST_RUNS;
  }
}

export const NO_GUEST = "no guest";

export const GUEST_RUNS = "guest runs";

/** Milliseconds between two questions to a destination that is away. */
const PAUSE = 5_000;

/**
 * As {@link callDestination}, of what may be repeated: a destination that is away, has
 * as long as an answer may take to come back, as a queue of messages would keep the request for it.
 * @throws {DestinationFailed}; what the own conductor throws passes as it is.
 */
export async function callReturningDestination<M extends DestinationMethod>(
  flow: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  const { clock, timers } = flow.services.context.runtime;
  const deadline = clock.monotonic() + TIMEOUTS[method];
  return retry(timers, () => callDestination(flow, method, params), {
    attempts: Number.POSITIVE_INFINITY,
    delay: () => PAUSE,
    retryOn: (error) => error instanceof DestinationFailed && error.silent && clock.monotonic() + PAUSE < deadline,
  });
}

/** @throws {DestinationFailed}; what the own conductor throws passes as it is. */
export async function callDestination<M extends DestinationMethod>(
  { services, dest, requestId }: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  try {
    return await services.context.conductor.callAgent(dest, method, params, { requestId, timeout: TIMEOUTS[method] });
  } catch (error) {
    if (error instanceof ConductorError && error.name !== "ConductorUnreachable") {
      throw new DestinationFailed(dest, method, error);
    }
    throw error;
  }
}

const NON_FINAL_STATUSES = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/**
 * Why what a live migration left on this host, at either of its ends, is not removed; null: it belongs to nobody. The
 * instance may have come back, or be on its way, since: asked under its lock, right before the removal.
 * @param known the instance, if it was read under the same lock
 */
export async function reasonToKeep(
  { context }: OperationServices,
  migration: Migration,
  known?: Instance,
): Promise<string | null> {
  const { conductor, host } = context;
  const { instanceUuid } = migration;
  const instance = known ?? (await conductor.call("instance_get", { uuid: instanceUuid }));
  if (instance?.deleted !== 0) {
    return null;
  }
  if (instance.host === host) {
    return "the instance is here";
  }
  const moves = await conductor.call("migrations_by_filters", {
    filters: { instanceUuid, statuses: NON_FINAL_STATUSES },
  });
  const other = moves.find(
    ({ id, sourceCompute, destCompute, migrationType, status }) =>
      id !== migration.id &&
      (sourceCompute === host || destCompute === host) &&
      // One to here has made nothing yet, and is refused while there is a guest.
      !(migrationType === "evacuation" && status === "accepted" && destCompute === host),
  );
  return other ? `this host takes part in ${other.migrationType} ${other.id}, which is ${other.status}` : null;
}

/** Statuses in which the source of a live migration may have left it (spec 1.5). */
export const UNFINISHED_LIVE_MIGRATION = [
  "accepted",
  "queued",
  "preparing",
  "running",
  "running (post-copy)",
] as const satisfies readonly MigrationStatus[];
