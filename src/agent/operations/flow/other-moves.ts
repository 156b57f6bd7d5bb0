import type { Allocations, RequestContext } from "../../../placement-client/types.js";
import {
  DISK_INFO,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type InstanceChanges,
  type Migration,
  type MigrationStatus,
  SET_ASIDE_BY,
  type VmState,
} from "../../../records/index.js";
import type { AgentContext } from "../../context.js";

/** Returns the providers of hosts from which the instance was evacuated, and which will clean up by themselves. */
export async function residues(
  { conductor, placement }: Pick<AgentContext, "conductor" | "placement">,
  { uuid: instanceUuid, host }: Instance,
  held: Allocations,
  context: RequestContext,
): Promise<ReadonlySet<string>> {
  // A single one is the destination, which the move has claimed.
  if (Object.keys(held).length < 2) {
    return new Set();
  }
  const evacuations = await conductor.call("migrations_by_filters", {
    filters: { instanceUuid, migrationTypes: ["evacuation"], statuses: ["done"] },
  });
  const found = new Set<string>();
  for (const source of new Set(evacuations.map(({ sourceCompute }) => sourceCompute))) {
    if (source !== null && source !== host) {
      for (const node of await conductor.call("compute_nodes_by_host", { host: source })) {
        found.add(node.uuid);
      }
    }
  }
  const trees = await placement.providersOfTrees(
    [...found].filter((node) => node in held),
    context,
  );
  return new Set(Object.keys(held).filter((provider) => trees.has(provider)));
}

/**
 * Returns whether a later migration has, or may get, the host as its destination, above all an evacuation that
 * superseded the move. The instance's allocations there then belong to that migration. `to come`: a running move adds
 * its claim to the existing allocations (an evacuation does not), so the amounts determine whether it has claimed.
 */
export async function laterClaims(
  { conductor }: Pick<AgentContext, "conductor">,
  { id, instanceUuid }: Migration,
  host: string | null,
): Promise<"none" | "to come" | "made"> {
  const migrations = await conductor.call("migrations_by_filters", { filters: { instanceUuid } });
  const isOver = ({ status }: Migration) => FINAL_MIGRATION_STATUSES.includes(status);
  const later = migrations.filter(
    (other) =>
      other.id > id &&
      !GONE_NOWHERE.includes(other.status) &&
      (other.destCompute === host || (other.destCompute === null && !isOver(other))),
  );
  if (later.length === 0) {
    return "none";
  }
  return later.every((other) => other.migrationType !== "evacuation" && !isOver(other)) ? "to come" : "made";
}

/** A move with one of these statuses did not move its instance. */
export const GONE_NOWHERE: readonly MigrationStatus[] = ["error", "failed", "cancelled"];

/**
 * Returns whether the instance has left the move's destination by now, and has allocations on its new host. A late
 * source then finds that the destination allocations are gone, while its own are unchanged.
 */
export async function isBeyond(
  context: Pick<AgentContext, "conductor">,
  { instanceUuid, sourceCompute }: Migration,
  held: Allocations,
): Promise<boolean> {
  const now = await context.conductor.call("instance_get", { uuid: instanceUuid });
  if (now === null || now.host === sourceCompute) {
    return false;
  }
  const root = await rootOf(context, now.host, now.node, held);
  return root !== null && root in held;
}

/**
 * Returns the instance, if a later move has brought it back to the move's source. At rest, no running operation can
 * have claimed anything for it there beyond its need, so that all else is a leftover of the move.
 */
export async function backAtSource(
  { conductor }: Pick<AgentContext, "conductor">,
  { id, instanceUuid, sourceCompute }: Migration,
): Promise<{ readonly instance: Instance; readonly isAtRest: boolean } | null> {
  const instance = await conductor.call("instance_get", { uuid: instanceUuid });
  if (instance === null || instance.host !== sourceCompute) {
    return null;
  }
  const others = (await conductor.call("migrations_by_filters", { filters: { instanceUuid } })).filter(
    (other) => other.id !== id,
  );
  const cameBack = ({ destCompute, status }: Migration) =>
    destCompute === sourceCompute && !GONE_NOWHERE.includes(status);
  if (!others.some((other) => other.id > id && cameBack(other))) {
    return null;
  }
  const isAtRest = instance.taskState === null && others.every((other) => isSettledOn(other, sourceCompute));
  return { instance, isAtRest };
}

/** Returns whether the move is over, or waits for its confirmation with only the destination allocations on the host. */
export function isSettledOn({ status, sourceCompute, destCompute }: Migration, host: string | null): boolean {
  return (
    FINAL_MIGRATION_STATUSES.includes(status) ||
    (status === "finished" && destCompute === host && sourceCompute !== host)
  );
}

/** Before a destination has claimed, its node is unknown: it is the one on which the instance has allocations. */
export async function rootOf(
  { conductor }: Pick<AgentContext, "conductor">,
  host: string | null,
  node: string | null,
  held: Allocations,
): Promise<string | null> {
  if (host === null) {
    return null;
  }
  if (node !== null) {
    return (await conductor.call("compute_node_get_by_host_and_node", { host, node }))?.uuid ?? null;
  }
  const nodes = await conductor.call("compute_nodes_by_host", { host });
  return nodes.find(({ uuid }) => uuid in held)?.uuid ?? null;
}

/**
 * Returns the move that an evacuation has ended while only its other host may have had the guest (spec 6.7): the source
 * of a cold move, the destination of a live one. The instance records the move until the evacuation has created the
 * guest elsewhere, or has failed and the guest is restored.
 */
export async function setAsideMove(
  { conductor }: Pick<AgentContext, "conductor">,
  instance: Instance,
): Promise<Migration | null> {
  const id = instance.systemMetadata[SET_ASIDE_BY];
  return id === undefined ? null : conductor.call("migration_get", { id: Number(id) });
}

const STATES: readonly VmState[] = ["active", "stopped", "error"];

/** False if the instance's state proves that it was elsewhere since. */
export function mayBeSetAside({ systemMetadata, vmState, taskState }: Instance): boolean {
  return systemMetadata[SET_ASIDE_BY] !== undefined && STATES.includes(vmState) && taskState !== "deleting";
}

/** Returns the system metadata without the entries of a set-aside guest. */
export function withoutSetAside({ systemMetadata }: Instance): Pick<InstanceChanges, "systemMetadata"> {
  const { [SET_ASIDE_BY]: _by, [DISK_INFO]: _info, old_vm_state: _state, ...rest } = systemMetadata;
  return { systemMetadata: rest };
}

/** Makes the other host of the move remove its leftovers as soon as it serves. Leaves files that both hosts may share. */
export async function castSetAsideGoes(
  { conductor, host }: Pick<AgentContext, "conductor" | "host">,
  { id: migrationId, instanceUuid, migrationType, sourceCompute, destCompute }: Migration,
  requestId: string,
): Promise<void> {
  const message = { instanceUuid, migrationId, requestId };
  if (migrationType === "live-migration") {
    if (destCompute !== null && destCompute !== host) {
      const params = { ...message, destroyDisks: false, data: { sharedInstanceFiles: true }, guestGoes: true };
      await conductor.castAgent(destCompute, "rollback_live_migration_at_destination", params);
    }
    return;
  }
  if (sourceCompute !== null && sourceCompute !== host) {
    await conductor.castAgent(sourceCompute, "confirm_resize", message);
  }
}
