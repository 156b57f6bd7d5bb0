import { ConductorError } from "../../conductor-client/errors.js";
import { isPlacementError } from "../../placement-client/errors.js";
import {
  afterRejectedEvacuation,
  type ComputeNode,
  type Instance,
  type InstanceChanges,
  type Migration,
  REBUILD_TASK_STATES,
} from "../../records/index.js";
import { type AgentView, requestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import { UNENDED } from "../operations/build/evacuate-failure.js";
import { destroyOptions } from "../operations/flow/guest-options.js";
import type { AgentServices } from "../services.js";
import { endMove, unlessTaken } from "./unless-taken.js";

/** An evacuation to this host that its agent had accepted and not finished when it died. */
export interface InterruptedEvacuation {
  readonly migration: Migration;
  /** Still on the source, unless the evacuation has arrived. */
  readonly instance: Instance;
  readonly node: ComputeNode;
  /** The changes of the instance: none yet if it was not claimed (spec 6.7 row 3), otherwise it fails (row 4). */
  readonly changes: InstanceChanges;
  /** True if the guest may have been created. */
  readonly claimed: boolean;
  /** True if only the status is missing: Nova's conductor writes the instance before the migration. */
  readonly arrived: boolean;
}

/**
 * @param listed the host's moves, as listed by a start; default: they are read
 * @throws {ConnectFailure}
 */
export async function findInterruptedEvacuations(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  listed?: readonly Migration[],
): Promise<readonly InterruptedEvacuation[]> {
  const nodesByName = new Map([...nodes].map((node) => [node.hypervisorHostname, node]));
  const filters = { destCompute: view.host, migrationTypes: ["evacuation" as const], statuses: [...UNENDED] };
  const migrations = (listed ?? (await view.conductor.call("migrations_by_filters", { filters }))).filter(
    ({ migrationType, destCompute, status }) =>
      migrationType === "evacuation" && destCompute === view.host && UNENDED.includes(status),
  );
  const found: InterruptedEvacuation[] = [];
  const request = requestId(view);
  for (const migration of migrations) {
    const instance = await view.conductor.call("instance_get", { uuid: migration.instanceUuid });
    if (instance === null) {
      continue;
    }
    const { status } = migration;
    const arrived = instance.host === view.host;
    const claimed = arrived || status !== "accepted";
    const node = claimed
      ? nodesByName.get(migration.destNode ?? "")
      : await nodeHeld(view, nodesByName.values(), instance, request);
    const isInterrupted = !arrived || (status === "pre-migrating" && instance.taskState === null);
    if (node && isInterrupted) {
      const failed = claimed ? ({ vmState: "error", taskState: null } as const) : afterRejectedEvacuation(instance);
      found.push({ migration, instance, node, changes: arrived ? {} : failed, claimed, arrived });
    }
  }
  return found;
}

/** Returns the node with the instance's allocations; without one, the conductor has not handed it over. */
async function nodeHeld(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  { uuid }: Instance,
  request: string,
): Promise<ComputeNode | undefined> {
  try {
    const { allocations } = await view.placement.getAllocationsForConsumer(uuid, { requestId: request });
    return [...nodes].find((node) => node.uuid in allocations);
  } catch (err) {
    if (isPlacementError(err, "ConnectFailure")) {
      throw err;
    }
    view.logger.error("could not check whether an evacuation to this host was interrupted", {
      instance: uuid,
      err,
    });
    return undefined;
  }
}

/**
 * Ends an evacuation like a failure in spec 6.7 row 4: removes this host's allocations; the instance stays on the
 * source, in error, and can be evacuated again. Upstream leaves it unfinished. A guest that was created here is
 * removed; its disks stay, because they may be the source's on shared storage (spec V5). An evacuation that was never
 * claimed may be repeated immediately.
 */
export async function failInterruptedEvacuation(services: AgentServices, found: InterruptedEvacuation): Promise<void> {
  const { migration, instance } = found;
  await unlessTaken(services, { instance: instance.uuid, migration: migration.id }, async () => {
    await requireUnended(services, migration);
    if (found.arrived) {
      const { id, status } = migration;
      await services.conductor.call("migration_save", { id, changes: { status: "done" }, expectedStatus: [status] });
    } else {
      await undo(services, found);
    }
  });
}

/** @throws InvalidMigrationState: the conductor has ended or continued the evacuation */
async function requireUnended({ conductor }: AgentServices, { id, status }: Migration): Promise<void> {
  const now = await conductor.call("migration_get", { id });
  if (now?.status === status) {
    return;
  }
  throw new ConductorError(
    "InvalidMigrationState",
    `migration ${id}: found status ${now?.status ?? "none"}, expected ${status}`,
  );
}

async function undo(services: AgentServices, found: InterruptedEvacuation): Promise<void> {
  const { migration, instance, node, changes, claimed } = found;
  const { uuid } = instance;
  const request = requestId(services);
  const fields = { instance: uuid, migration: migration.id, request_id: request };
  services.logger.warn("an evacuation to this host was interrupted when the agent died; setting it to failed", fields);
  requireHostLease(services, `undo the evacuation of instance ${uuid}`);
  if (claimed) {
    await services.driver.destroy(instance, await destroyOptions(services, instance, false));
  }
  const stripped = await services.placement.removeProviderTreeFromInstanceAllocation(uuid, node.uuid, {
    retry: true,
    requestId: request,
  });
  if (!stripped) {
    services.logger.error("could not remove this host's allocations of the instance", fields);
  }
  // One write: the next start finds this by the record. The instance is included only while it belongs to this
  // evacuation.
  const ours = await isOurs(services, found);
  // The next evacuation may begin after that: its task_state has the same name.
  const ofRequest = instance.taskRequestId === null ? {} : { ofRequest: instance.taskRequestId };
  const expected = { expectedTaskState: [instance.taskState], expectedHost: instance.host, ...ofRequest };
  await endMove(
    services,
    {
      ...(ours ? { instance: { uuid, changes, ...expected } } : {}),
      migration: { id: migration.id, changes: { status: "failed" }, expectedStatus: [migration.status] },
    },
    request,
  );
}

/** Returns false if a later evacuation or any other request owns the instance, wherever it is now. */
async function isOurs(
  { conductor }: AgentServices,
  { instance, migration, claimed }: InterruptedEvacuation,
): Promise<boolean> {
  const { uuid: instanceUuid, host, taskState } = instance;
  const isItsTask = taskState === null ? claimed : REBUILD_TASK_STATES.includes(taskState);
  if (host !== migration.sourceCompute || !isItsTask) {
    return false;
  }
  const evacuations = await conductor.call("migrations_by_filters", {
    filters: { instanceUuid, migrationTypes: ["evacuation"] },
  });
  return evacuations.every(({ id }) => id <= migration.id);
}
