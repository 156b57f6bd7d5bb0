import type { Instance, Migration } from "../../records/index.js";
import { NotImplemented } from "../../virt/errors.js";
import type { SharedStorageToken } from "../../virt/types.js";
import type { AgentView } from "../context.js";
import { hasQuirk } from "../context.js";

/** What becomes of the disks of an evacuated guest. `probe`: the storage has to be asked first, which leaves traces. */
export type DiskPlan =
  | { readonly disks: "destroy" | "keep"; readonly reason: string }
  | { readonly disks: "probe"; readonly probedHost: string | null; readonly reason: string };

/** What can be said without touching the storage. */
export function planDisks(view: AgentView, instance: Instance, migration: Migration): DiskPlan {
  if (instance.deleted !== 0) {
    return { disks: "destroy", reason: "the instance is deleted" };
  }
  // Upstream falls back to the instance's own host, which is this one and serves nobody yet (spec 3.3 GAP-b).
  const probedHost =
    migration.destCompute ?? (hasQuirk(view, "evacuation-probe-without-destination") ? instance.host : null);
  return {
    disks: "probe",
    probedHost,
    reason: probedHost
      ? `kept if ${probedHost} sees the same storage`
      : "kept if the storage may be shared: no destination is recorded that could be asked",
  };
}

/** Spec 3.3. True: the destination sees the same storage, or that could not be found out, so that the disks stay. */
export async function storageShared(
  view: Pick<AgentView, "driver" | "conductor" | "logger">,
  instance: Instance,
  probedHost: string | null,
  requestId: string,
): Promise<boolean> {
  try {
    const token = await view.driver.checkInstanceSharedStorageLocal(instance);
    return token === null ? true : await tokenVisible(view, instance, token, probedHost, requestId);
  } catch (error) {
    if (error instanceof NotImplemented) {
      return false;
    }
    view.logger.warn("could not find out whether the storage is shared; the disks are kept", {
      err: error,
      instance: instance.uuid,
      request_id: requestId,
    });
    return true;
  }
}

async function tokenVisible(
  view: Pick<AgentView, "driver" | "conductor">,
  instance: Instance,
  token: SharedStorageToken,
  probedHost: string | null,
  requestId: string,
): Promise<boolean> {
  try {
    return probedHost === null
      ? true
      : await view.conductor.callAgent(
          probedHost,
          "check_instance_shared_storage",
          { instanceUuid: instance.uuid, token },
          { requestId },
        );
  } finally {
    await view.driver.checkInstanceSharedStorageCleanup(token);
  }
}
