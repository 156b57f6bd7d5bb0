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
 * A cold move that an evacuation has ended while its source may have been the only host with the guest's disks (spec 6.7). The
 * instance says which until the evacuation has made the guest elsewhere, or has failed and the guest is taken back.
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

/** The source removes what it has set aside, as soon as it serves. */
export async function castSetAsideGoes(
  { conductor, host }: Pick<AgentContext, "conductor" | "host">,
  { id: migrationId, instanceUuid, sourceCompute }: Migration,
  requestId: string,
): Promise<void> {
  if (sourceCompute !== null && sourceCompute !== host) {
    await conductor.castAgent(sourceCompute, "confirm_resize", { instanceUuid, migrationId, requestId });
  }
}
