import {
  DISK_INFO,
  type Instance,
  type InstanceChanges,
  type Migration,
  SET_ASIDE_BY,
  type VmState,
} from "../../../records/index.js";
import type { AgentContext } from "../../context.js";

/**
 * A move that an evacuation has ended while its other host may have been the only one with the guest (spec 6.7): the source of a
 * cold one, the destination of a live one. The instance says which until the evacuation has made the guest elsewhere, or has
 * failed and the guest is taken back.
 */
export async function setAsideMove(
  { conductor }: Pick<AgentContext, "conductor">,
  instance: Instance,
): Promise<Migration | null> {
  const id = instance.systemMetadata[SET_ASIDE_BY];
  return id === undefined ? null : conductor.call("migration_get", { id: Number(id) });
}

const STATES: readonly VmState[] = ["active", "stopped", "error"];

/** Unless the instance has been elsewhere since. */
export function mayBeSetAside({ systemMetadata, vmState, taskState }: Instance): boolean {
  return systemMetadata[SET_ASIDE_BY] !== undefined && STATES.includes(vmState) && taskState !== "deleting";
}

/** Nothing is set aside any more. */
export function withoutSetAside({ systemMetadata }: Instance): Pick<InstanceChanges, "systemMetadata"> {
  const { [SET_ASIDE_BY]: _by, [DISK_INFO]: _info, old_vm_state: _state, ...rest } = systemMetadata;
  return { systemMetadata: rest };
}

/** The other host of the move removes what is left there, as soon as it serves. Keeps files that both hosts may see. */
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
