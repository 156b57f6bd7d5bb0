import { type Instance, imagePropertiesOf, type Migration } from "../../../records/index.js";
import { NotImplemented } from "../../../virt/errors.js";
import type {
  Allocations,
  BlockDeviceInfo,
  DestroyOptions,
  ImageMeta,
  SharedStorageToken,
} from "../../../virt/types.js";
import { type AgentView, hasQuirk } from "../../context.js";

/** Returns the image as recorded in the system metadata. @param imageRef default: the instance's own */
export function imageMeta(instance: Instance, imageRef = instance.imageRef): ImageMeta {
  const properties = imagePropertiesOf(instance);
  const { disk_format, container_format, min_disk, min_ram, name } = properties;
  return {
    id: imageRef,
    name: name ?? imageRef,
    diskFormat: disk_format ?? "raw",
    containerFormat: container_format ?? "bare",
    minDisk: Number.parseInt(min_disk ?? "0", 10) || 0,
    minRam: Number.parseInt(min_ram ?? "0", 10) || 0,
    properties,
  };
}

/** @param image default: the instance's own */
export function spawnOptions(
  instance: Instance,
  allocations: Allocations,
  {
    blockDevices,
    powerOn,
    image,
  }: { readonly blockDevices: BlockDeviceInfo; readonly powerOn: boolean; readonly image?: string | undefined },
) {
  return {
    image: imageMeta(instance, image),
    allocations,
    network: [],
    blockDevices,
    powerOn,
  };
}

export async function destroyOptions(
  { volumes }: Pick<AgentView, "volumes">,
  instance: Instance,
  destroyDisks: boolean,
): Promise<DestroyOptions> {
  return { network: [], blockDevices: await volumes.info(instance), destroyDisks };
}

/** The plan for the disks of an evacuated guest. `probe`: the storage must be probed first, which leaves traces. */
export type DiskPlan =
  | { readonly disks: "destroy" | "keep"; readonly reason: string }
  | { readonly disks: "probe"; readonly probedHost: string | null; readonly reason: string };

/** Plans as far as possible without touching the storage. */
export function planDisks(view: AgentView, instance: Instance, migration: Migration): DiskPlan {
  if (instance.deleted !== 0) {
    return { disks: "destroy", reason: "the instance is deleted" };
  }
  // Upstream falls back to the instance's own host, which is this one and does not serve yet (spec 3.3 GAP-b).
  const probedHost =
    migration.destCompute ?? (hasQuirk(view, "evacuation-probe-without-destination") ? instance.host : null);
  return {
    disks: "probe",
    probedHost,
    reason: probedHost
      ? `kept if ${probedHost} sees the same storage`
      : "kept if the storage may be shared: no destination is recorded to check",
  };
}

/** Spec 3.3. Returns true if the destination sees the same storage, or if that is unknown: the disks then stay. */
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
