import { ConductorError } from "../../../conductor-client/errors.js";
import type { LiveMigrateData } from "../../../conductor-client/methods/agent.js";
import type { ComputeNode, Instance, Selection } from "../../../records/index.js";
import { defined } from "../../../runtime/collections.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { ScheduleRequest } from "../../scheduler/schedule-request.js";
import type { Task } from "../../store/tasks.js";
import {
  computeServiceUnavailable,
  isTaskError,
  preCheckFailed,
  RETRIES_EXCEEDED,
  requestSpecOf,
  TaskError,
} from "./faults.js";
import { claimSameAmounts, type Move, sourceNode } from "./source-allocations.js";
import { isAlive, portRequestsOf, type TaskDeps } from "./task-deps.js";

export type LiveTask = Extract<Task, { kind: "live_migrate_instance" }>;

/** A claimed node that passed the pre-checks. */
export interface LiveDestination {
  readonly node: ComputeNode;
  readonly data: LiveMigrateData;
  readonly mappings?: Selection["mappings"];
}

/**
 * Finds a destination (spec 6.5 row 4) by checking hosts in turn until both ends agree.
 * @throws {NoValidHost} {MaxRetriesExceeded}
 */
export async function findLiveDestination(
  deps: TaskDeps,
  task: LiveTask,
  move: Move,
  held: ScheduleRequest["held"],
): Promise<LiveDestination> {
  const { store, scheduler, config, logger } = deps;
  const { instance } = move;
  const tried = instance.host === null ? [] : [instance.host];
  for (;;) {
    const destination = await scheduler.selectDestination({
      instanceUuid: instance.uuid,
      spec: { ...requestSpecOf(store, task), flavor: instance.flavor },
      requestedHost: task.host ?? undefined,
      ignoreHosts: tried,
      portRequests: portRequestsOf(deps, instance.uuid),
      held,
      requestId: task.requestId,
    });
    const { host, node: name, computeNodeUuid } = destination.selection;
    try {
      const node = store.computeNodes.getByHostAndNode(host, name);
      if (node === null) {
        throw preCheckFailed(`node ${name} of host ${host} is gone`);
      }
      assertCompatible(deps, instance, node);
      const data = await askDestination(deps, task, move, node);
      return { node, data, ...defined({ mappings: destination.selection.mappings }) };
    } catch (error) {
      if (!isPreCheckFailure(error)) {
        throw error;
      }
      logger.info("the host cannot take this instance by live migration; trying another", {
        instance: instance.uuid,
        host,
        request_id: task.requestId,
        reason: errorMessage(error),
      });
      const { requestId } = task;
      const options = { retry: true, requestId };
      await deps.placement.removeProviderTreeFromInstanceAllocation(instance.uuid, computeNodeUuid, options);
      tried.push(host);
      // `tried` includes the source, and the first destination is not a retry.
      if (config.migrateMaxRetries >= 0 && tried.length - 2 >= config.migrateMaxRetries) {
        store.migrations.save(move.migration.id, { status: "failed" });
        throw new TaskError(
          "MaxRetriesExceeded",
          `${RETRIES_EXCEEDED} Exceeded max scheduling retries ${tried.length - 1} for instance ${instance.uuid} during live migration`,
        );
      }
    }
  }
}

/** Claims on the operator's host without candidates or filters (spec 6.5 row 4f). */
export async function claimForcedLive(
  deps: TaskDeps,
  task: LiveTask,
  move: Move,
  host: string,
  held: ScheduleRequest["held"],
): Promise<LiveDestination> {
  const { store, placement } = deps;
  const { instance, migration, requestId } = move;
  if (host === instance.host) {
    throw new TaskError(
      "UnableToMigrateToSelf",
      `Unable to migrate instance (${instance.uuid}) to current host (${host}).`,
    );
  }
  const node = store.computeNodes.byHost(host)[0];
  if (node === undefined || !isAlive(deps, host)) {
    throw computeServiceUnavailable(host);
  }
  const available = node.memoryMb * node.ramAllocationRatio - (node.memoryMb - node.freeRamMb);
  if (available <= instance.memoryMb) {
    throw preCheckFailed(
      `Unable to migrate ${instance.uuid} to ${host}: Lack of memory(host:${available} <= instance:${instance.memoryMb})`,
    );
  }
  assertCompatible(deps, instance, node);
  const owner = held === "replace" ? migration.uuid : instance.uuid;
  const { allocations } = await placement.getAllocationsForConsumer(owner, { requestId });
  await claimSameAmounts(deps, move, node, { allocations, held });
  return { node, data: await askDestination(deps, task, move, node) };
}

function assertCompatible({ store }: TaskDeps, instance: Instance, node: ComputeNode): void {
  const source = sourceNode(store, instance);
  if (source === undefined) {
    throw computeServiceUnavailable(instance.host ?? "none");
  }
  if (source.hypervisorType !== node.hypervisorType) {
    throw new TaskError("InvalidHypervisorType", "The supplied hypervisor type of is invalid.");
  }
  if (source.hypervisorVersion > node.hypervisorVersion) {
    throw new TaskError(
      "DestinationHypervisorTooOld",
      "The instance requires a newer hypervisor version than has been provided.",
    );
  }
}

async function askDestination(
  { bus }: TaskDeps,
  task: LiveTask,
  { instance, migration, requestId }: Move,
  { host }: ComputeNode,
): Promise<LiveMigrateData> {
  const { blockMigration, diskOverCommit } = task;
  const params = { instanceUuid: instance.uuid, migrationId: migration.id, blockMigration, diskOverCommit, requestId };
  try {
    return await bus.call(host, "check_can_live_migrate_destination", params, { requestId });
  } catch (error) {
    if (error instanceof ConductorError) {
      throw preCheckFailed(error.message);
    }
    throw error;
  }
}

function isPreCheckFailure(error: unknown): boolean {
  return isTaskError(error, "MigrationPreCheckError", "InvalidHypervisorType", "DestinationHypervisorTooOld");
}
