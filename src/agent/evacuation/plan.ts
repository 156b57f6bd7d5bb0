import {
  type ComputeNode,
  type Instance,
  type Migration,
  type MigrationStatus,
  UNFINISHED_MIGRATION_STATUSES,
} from "../../records/index.js";
import { type AgentView, hasQuirk } from "../context.js";
import { type DiskPlan, planDisks } from "../operations/flow/guest-options.js";
import { GONE_NOWHERE } from "../operations/flow/other-moves.js";
import { instancesOnDriver } from "./hypervisor-guests.js";

/** The statuses of evacuations from this host that it has not cleaned up yet. */
export const UNCLEANED: readonly MigrationStatus[] = ["accepted", "pre-migrating", "done"];

/** The planned action for one guest that is still on the hypervisor. */
export interface EvacuatedGuest {
  readonly instance: Instance;
  readonly migration: Migration;
  /** `stop`: the evacuation has not ended, and no other guest of the instance may be running (spec 3.3 GAP-c). */
  readonly action: "destroy" | "stop";
  readonly disks: DiskPlan;
  readonly reason: string;
}

/** The planned action for one migration record, and for its instance's allocations on this host. */
export interface EvacuationRecord {
  readonly migration: Migration;
  readonly instance: Instance | null;
  /**
   * `strip`: remove this host's tree from the instance's allocations, then save `completed`. `complete`: there is
   * nothing to strip.
   */
  readonly action: "strip" | "complete" | "wait" | "skip";
  /** The node that the instance left; null: unknown. */
  readonly node: ComputeNode | null;
  readonly reason: string;
}

export interface EvacuationPlan {
  /** Instances that this host must not initialise, even if their record still names it: uuid → record. */
  readonly evacuated: ReadonlyMap<string, Migration>;
  readonly guests: readonly EvacuatedGuest[];
  readonly records: readonly EvacuationRecord[];
}

/**
 * Plans spec 3.1: reads and decides, changes nothing. Start-up, the periodic re-evaluation and the dry run all use the
 * plan.
 * @param nodes this host's compute nodes, from the database: at start-up the tracker has none yet
 * @param only the instances to consider; absent: all
 */
export async function planEvacuatedCleanup(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  only?: ReadonlySet<string>,
): Promise<EvacuationPlan> {
  const migrations = await view.conductor.call("migrations_by_filters", {
    filters: {
      sourceCompute: view.host,
      migrationTypes: ["evacuation"],
      statuses: [...UNCLEANED],
      readDeleted: true,
    },
  });
  const considered = migrations.filter(({ instanceUuid }) => only?.has(instanceUuid) ?? true);
  if (considered.length === 0) {
    return { evacuated: new Map(), guests: [], records: [] };
  }
  // A later record of the same instance replaces the earlier one.
  const newest = new Map(considered.map((migration) => [migration.instanceUuid, migration]));
  const local = new Map((await instancesOnDriver(view)).map((instance) => [instance.uuid, instance]));
  const nodesByName = new Map([...nodes].map((node) => [node.hypervisorHostname, node]));

  const evacuated = new Map<string, Migration>();
  const guests: EvacuatedGuest[] = [];
  const records: EvacuationRecord[] = [];
  for (const [uuid, migration] of newest) {
    const guest = local.get(uuid);
    const instance = guest ?? (await view.conductor.call("instance_get", { uuid, readDeleted: true }));
    const result = await checkEvacuation(view, migration, instance);
    if (result.kind !== "moot") {
      evacuated.set(uuid, migration);
    }
    if (guest && result.kind !== "moot") {
      const action = result.kind === "wait" ? "stop" : "destroy";
      guests.push({
        instance: guest,
        migration,
        action,
        disks: planDisks(view, guest, migration),
        reason: result.reason,
      });
    }
    const node = (migration.sourceNode !== null && nodesByName.get(migration.sourceNode)) || null;
    const incoming = result.kind === "left" ? await incomingAfter(view, migration) : null;
    records.push({ migration, instance, node, ...recordAction(result, instance, node, incoming) });
  }
  return { evacuated, guests, records };
}

interface EvacuationCheckResult {
  /** `moot`: the guest and allocations here are not leftovers of the evacuation. */
  readonly kind: "left" | "wait" | "moot";
  readonly reason: string;
}

/** Checks whether the instance has certainly left this host, and by this evacuation. */
async function checkEvacuation(
  view: AgentView,
  migration: Migration,
  instance: Instance | null,
): Promise<EvacuationCheckResult> {
  const evacuation = `evacuation ${migration.id} to ${migration.destCompute ?? "a host not chosen yet"} is ${migration.status}`;
  const isHere = instance !== null && instance.deleted === 0 && instance.host === view.host;
  if (hasQuirk(view, "destroy-pending-evacuations")) {
    return { kind: "left", reason: evacuation };
  }
  if (!isHere) {
    const move = instance?.deleted === 0 ? await outgoingAfter(view, migration) : undefined;
    return move
      ? {
          kind: "moot",
          reason: `${evacuation}, and ${move.migrationType} ${move.id} has moved the instance away since`,
        }
      : { kind: "left", reason: evacuation };
  }
  if (migration.status === "done") {
    // `done` is written together with the new host, so a later move has brought the instance back: its guest here is in
    // use.
    return { kind: "moot", reason: `${evacuation}, and the instance has come back to ${view.host} since` };
  }
  return { kind: "wait", reason: `${evacuation} and the instance is still recorded here: it may run nowhere else` };
}

/**
 * Finds a later move from here, of an instance that had come back or whose evacuation had no effect. Only that move may
 * remove its source allocations: it may need them for a revert.
 */
async function outgoingAfter(
  { conductor, host }: AgentView,
  { id, instanceUuid }: Migration,
): Promise<Migration | undefined> {
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid, sourceCompute: host } });
  return moves.findLast(
    (move) => move.id > id && move.migrationType !== "evacuation" && !GONE_NOWHERE.includes(move.status),
  );
}

/**
 * Finds a later move that brings the instance back. It claimed the allocations here, and removes them itself if it
 * fails.
 */
async function incomingAfter(
  { conductor, host }: AgentView,
  { id, instanceUuid }: Migration,
): Promise<Migration | null> {
  const filters = { instanceUuid, destCompute: host, statuses: UNFINISHED_MIGRATION_STATUSES };
  const moves = await conductor.call("migrations_by_filters", { filters });
  return moves.find((move) => move.id > id) ?? null;
}

function recordAction(
  result: EvacuationCheckResult,
  instance: Instance | null,
  node: ComputeNode | null,
  incoming: Migration | null,
): Pick<EvacuationRecord, "action" | "reason"> {
  if (result.kind === "wait") {
    return { action: "wait", reason: result.reason };
  }
  if (result.kind === "moot") {
    return { action: "complete", reason: result.reason };
  }
  if (instance === null) {
    return { action: "skip", reason: "the instance is unknown, even as a deleted one" };
  }
  if (node === null) {
    return { action: "skip", reason: "the node that the instance left is not one of this host's" };
  }
  if (incoming !== null) {
    const reason = `the allocations here belong to ${incoming.migrationType} ${incoming.id}, which brings the instance back`;
    return { action: "complete", reason };
  }
  return instance.deleted === 0
    ? { action: "strip", reason: result.reason }
    : { action: "complete", reason: "the instance is deleted, and its allocations with it" };
}
