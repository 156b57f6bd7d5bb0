import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import type { AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import {
  type BlockDevice,
  type Instance,
  type Migration,
  type MigrationChanges,
  type MigrationStatus,
  UNFINISHED_MIGRATION_STATUSES,
} from "../../../records/index.js";
import { PublicError } from "../../../runtime/error-messages.js";
import { retry } from "../../../runtime/retry.js";
import type { LiveMigrateData } from "../../../virt/move-methods.js";
import type { OperationServices } from "../flow/contract.js";
import { type DestinationMethod, type OutgoingMigration, TIMEOUTS } from "../flow/outgoing-migrations.js";

/** The outcome of the driver's copy, or of the steps before it. */
type CopyOutcome = "moved" | "failed" | "cancelled";

/** One live migration on its source, from the queue to its end. */
export interface Flow {
  readonly services: OperationServices;
  readonly requestId: string;
  readonly entry: OutgoingMigration;
  /** The name of the destination host. */
  readonly dest: string;
  instance: Instance;
  migration: Migration;
  /** As the last of the two drivers returned it. */
  data: LiveMigrateData;
  /** The instance's block devices before the destination connected their volumes; null in a recovery. */
  devices: readonly BlockDevice[] | null;
  /** True once the attachments of this host are removed. */
  released: boolean;
  /** True if the destination was called to prepare. */
  prepared: boolean;
  /** True if the driver was called to move the guest: from then on only the driver knows where it is. */
  copying: boolean;
  outcome: CopyOutcome | null;
  /** The copy's progress that is not yet saved in the migration's record. */
  progress: MigrationChanges;
  /** The changes of the records after a rollback. */
  end: { readonly status: MigrationStatus; readonly vmState?: "error" };
  /** True in a recovery: an unreachable host is called again later, and nothing is forced. */
  readonly isRecovery: boolean;
  /** True if the destination's writes are done, or will never be. */
  arrived: boolean;
  /** The error that occurred on the way to the end. */
  error: unknown;
}

/** Creates the flow of a migration that has not begun. */
export function createFlow(
  parts: Omit<
    Flow,
    | "devices"
    | "released"
    | "prepared"
    | "copying"
    | "outcome"
    | "progress"
    | "end"
    | "isRecovery"
    | "arrived"
    | "error"
  >,
): Flow {
  return {
    ...parts,
    devices: null,
    released: false,
    prepared: false,
    copying: false,
    outcome: null,
    progress: {},
    end: { status: "error" },
    isRecovery: false,
    arrived: false,
    error: undefined,
  };
}

export function fieldsOf({ instance, migration }: Pick<Flow, "instance" | "migration">) {
  return {
    instance: instance.uuid,
    migration: migration.id,
  };
}

/** Completes a peer's driver data, which only the peer knows exactly. Defaults to shared files if they may be shared. */
export function driverData(data: Readonly<Record<string, unknown>>): LiveMigrateData {
  return {
    ...data,
    blockMigration: data.blockMigration === true,
    sharedInstanceFiles: data.sharedInstanceFiles !== false,
  };
}

/** Options of the driver's steps before and after the copy. */
export async function moveOptions(
  { volumes }: Pick<OperationServices, "volumes">,
  instance: Instance,
  data: LiveMigrateData,
) {
  return { network: [], blockDevices: await volumes.info(instance), data };
}

/** Reports that a request to the destination failed. */
export class DestinationFailed extends PublicError {
  override readonly name = "DestinationFailed";
  /** True if there was no response: it is unknown whether the work was done. */
  readonly silent: boolean;
  /** True if the destination reported that it has no guest. */
  readonly hasNoGuest: boolean;
  /** True if the destination reported a running guest, which it does not remove without an explicit request. */
  readonly guestRuns: boolean;

  constructor(host: string, method: DestinationMethod, cause: ConductorError) {
    super(`destination ${host} of the live migration could not ${method}: ${cause.message}`, { cause });
    this.silent = isConductorError(cause, "MessagingTimeout");
    const reason = isConductorError(cause, "ObjectActionError") ? cause.data.reason : undefined;
    this.hasNoGuest = reason === NO_GUEST;
    this.guestRuns = reason === GUEST_RUNS;
  }
}

export const NO_GUEST = "no guest";

export const GUEST_RUNS = "guest runs";

/** The delay between two calls to an unreachable destination, in milliseconds. */
const RETRY_DELAY_MS = 5_000;

/**
 * Like {@link callDestination}, for idempotent requests: waits for an unreachable destination until the method's
 * timeout, as a message queue would keep the request.
 * @throws {DestinationFailed}; errors of this host's conductor session are passed through
 */
export async function callReturningDestination<M extends DestinationMethod>(
  flow: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  const { clock, timers } = flow.services.runtime;
  const deadline = clock.monotonic() + TIMEOUTS[method];
  return retry(timers, () => callDestination(flow, method, params), {
    attempts: Number.POSITIVE_INFINITY,
    delay: () => RETRY_DELAY_MS,
    retryOn: (error) =>
      error instanceof DestinationFailed && error.silent && clock.monotonic() + RETRY_DELAY_MS < deadline,
  });
}

/** @throws {DestinationFailed}; errors of this host's conductor session are passed through */
export async function callDestination<M extends DestinationMethod>(
  { services, dest, requestId }: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  try {
    return await services.conductor.callAgent(dest, method, params, { requestId, timeout: TIMEOUTS[method] });
  } catch (error) {
    if (error instanceof ConductorError && error.name !== "ConductorUnreachable") {
      throw new DestinationFailed(dest, method, error);
    }
    throw error;
  }
}

/**
 * Returns the reason not to remove a live migration's leftovers on this host, at either end; null: they are unused. The
 * instance may have come back or be on its way: call this under its lock, right before the removal.
 * @param known the instance, if it was read under the same lock
 */
export async function reasonToKeep(
  services: OperationServices,
  migration: Migration,
  known?: Instance,
): Promise<string | null> {
  const { conductor, host } = services;
  const { instanceUuid } = migration;
  const instance = known ?? (await conductor.call("instance_get", { uuid: instanceUuid }));
  if (instance?.deleted !== 0) {
    return null;
  }
  if (instance.host === host) {
    return "the instance is here";
  }
  const filters = { instanceUuid, statuses: UNFINISHED_MIGRATION_STATUSES };
  const moves = await conductor.call("migrations_by_filters", { filters });
  const other = moves.find(
    ({ id, sourceCompute, destCompute, migrationType, status }) =>
      id !== migration.id &&
      (sourceCompute === host || destCompute === host) &&
      // An evacuation to this host has created nothing yet, and is rejected while there is a guest.
      !(migrationType === "evacuation" && status === "accepted" && destCompute === host),
  );
  return other ? `this host takes part in ${other.migrationType} ${other.id}, which is ${other.status}` : null;
}

/** Statuses in which the source may have abandoned a live migration (spec 1.5). */
export const UNFINISHED_LIVE_MIGRATION = [
  "accepted",
  "queued",
  "preparing",
  "running",
  "running (post-copy)",
] as const satisfies readonly MigrationStatus[];
