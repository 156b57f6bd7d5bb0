import { type BlockDevice, hasDevices, type Instance, isVolume, type VmState } from "../../../records/index.js";
import { GuestNotFound } from "../../../virt/errors.js";
import { isVolumeError } from "../../../volume-client/errors.js";
import type { VolumeAttachment } from "../../../volume-client/volume-service.js";
import { ignore } from "../../ignore-errors.js";
import { takeBack } from "../../volumes/live-attachments.js";
import type { OperationServices } from "../flow/contract.js";
import { attachVolume } from "./attach-volume.js";
import { detachVolume } from "./detach-volume.js";

/** The vm_states in which a guest on its host has its volumes. */
const SETTLED: readonly VmState[] = ["active", "stopped", "paused", "suspended", "resized", "shelved", "soft-delete"];

/** The interrupted operation that a device shows; null: none. */
type Leftover = "attachment" | "detachment" | null;

/**
 * Finishes attachments and detachments of an instance at rest that a killed process has left, and removes attachments that
 * no record names. A volume that cannot be attached any more is taken back, as by the request itself.
 */
export async function recoverAttachments(services: OperationServices, uuid: string): Promise<void> {
  const { conductor, host, volumes, logger } = services;
  const instance = await conductor.call("instance_get", { uuid });
  if (instance?.host !== host || !hasDevices(instance)) {
    return;
  }
  if (instance.taskState !== null || !SETTLED.includes(instance.vmState)) {
    return;
  }
  // A record may still name the destination's attachment of a live migration that was undone.
  await takeBack(services, instance, null);
  const attachments = new Map((await volumes.service.listAttachments(uuid)).map((each) => [each.id, each]));
  const guest = await volumesOfGuest(services, instance);
  for (const device of (await volumes.devices(instance)).filter(isVolume)) {
    const leftover = await leftoverOf(services, device, attachments, guest);
    if (leftover === null) {
      continue;
    }
    const fields = { instance: uuid, volume: device.volumeId };
    logger.info(`finishing an interrupted ${leftover} of a volume`, fields);
    const finish = leftover === "attachment" ? attachVolume : detachVolume;
    await finish(services, instance, device).catch((err: unknown) => {
      logger.error(`could not finish an interrupted ${leftover} of a volume`, { ...fields, err });
    });
  }
  await volumes.dropOthers(instance);
}

/** Returns null if there is no guest, or the driver does not know. */
async function volumesOfGuest({ driver }: OperationServices, instance: Instance): Promise<ReadonlySet<string> | null> {
  if (!driver.supports("listVolumes")) {
    return null;
  }
  const found = await driver.listVolumes(instance).catch(ignore(GuestNotFound));
  return found ? new Set(found.map(({ volumeId }) => volumeId)) : null;
}

/**
 * A device without an attachment waits for the API, which is reserving one. An attachment that is gone was removed by a
 * detachment, whose last step is to remove the record.
 */
async function leftoverOf(
  { volumes }: OperationServices,
  { volumeId, attachmentId }: BlockDevice,
  attachments: ReadonlyMap<string, VolumeAttachment>,
  guest: ReadonlySet<string> | null,
): Promise<Leftover> {
  if (volumeId === null || attachmentId === null) {
    return null;
  }
  const attachment = attachments.get(attachmentId);
  if (attachment === undefined) {
    return "detachment";
  }
  if (attachment.status !== "attached" || (guest !== null && !guest.has(volumeId))) {
    return (await isDetaching(volumes, volumeId)) ? "detachment" : "attachment";
  }
  return (await isDetaching(volumes, volumeId)) ? "detachment" : null;
}

async function isDetaching({ service }: OperationServices["volumes"], volumeId: string): Promise<boolean> {
  try {
    return (await service.getVolume(volumeId)).status === "detaching";
  } catch (error) {
    if (isVolumeError(error, "VolumeNotFound")) {
      return true;
    }
    throw error;
  }
}
