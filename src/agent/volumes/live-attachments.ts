import { type BlockDevice, hasDevices, type Instance, isVolume } from "../../records/index.js";
import { LOCAL_DISKS } from "../../virt/driver-host.js";
import type { BlockDeviceInfo } from "../../virt/types.js";
import type { AgentContext } from "../context.js";
import { toBlockDeviceInfo } from "./block-device-info.js";
import type { HostVolumes } from "./host-volumes.js";

/**
 * Attaches the volumes of a guest to this host as well, which a live migration brings here. The records name the new
 * attachments from then on.
 * @throws any error of Block Storage or of `work`; the records then name the attachments of the source again
 */
export async function attachToBoth<T>(
  volumes: HostVolumes,
  instance: Instance,
  work: (blockDevices: BlockDeviceInfo) => Promise<T>,
): Promise<T> {
  if (!hasDevices(instance)) {
    return work(LOCAL_DISKS);
  }
  const before = await volumes.devices(instance);
  try {
    const devices: BlockDevice[] = [];
    for (const device of before) {
      devices.push(isVolume(device) ? await attachHere(volumes, instance, device) : device);
    }
    const result = await work(toBlockDeviceInfo(devices));
    for (const { attachmentId } of devices.filter(isVolume)) {
      await volumes.service.completeAttachment(attachmentId ?? "");
    }
    return result;
  } catch (error) {
    await restore(volumes, instance, before);
    throw error;
  }
}

async function attachHere(volumes: HostVolumes, instance: Instance, device: BlockDevice): Promise<BlockDevice> {
  const { service } = volumes;
  const connector = await volumes.connector(instance, device.deviceName);
  const { id, connectionInfo } = await service.createAttachment(device.volumeId ?? "", instance.uuid, connector);
  const connection = connectionInfo ?? (await service.getAttachment(id)).connectionInfo;
  const shared = device.connectionInfo?.multiattach === true ? { multiattach: true } : {};
  return volumes.save(device, { attachmentId: id, connectionInfo: { ...connection, ...shared } });
}

/** Makes the records name their former attachments, and removes those that replaced them. */
async function restore(volumes: HostVolumes, instance: Instance, before: readonly BlockDevice[]): Promise<void> {
  const former = new Map(before.map((device) => [device.uuid, device]));
  for (const device of await volumes.devices(instance)) {
    const { attachmentId, connectionInfo } = former.get(device.uuid) ?? device;
    if (device.attachmentId === attachmentId) {
      continue;
    }
    await volumes.save(device, { attachmentId, connectionInfo });
    if (device.attachmentId !== null) {
      await volumes.service.deleteAttachment(device.attachmentId);
    }
  }
}

/**
 * Removes the attachments of the destination after a live migration that was rolled back.
 * @param before the devices before the migration; null: Block Storage knows the attachments of this host
 */
export async function takeBack(
  { volumes, host }: Pick<AgentContext, "volumes" | "host">,
  instance: Instance,
  before: readonly BlockDevice[] | null,
): Promise<void> {
  await restore(volumes, instance, before ?? (await devicesOfHost(volumes, instance, host)));
}

/** Returns the devices with the attachments of a host; unchanged ones of volumes that the host does not use. */
async function devicesOfHost(volumes: HostVolumes, instance: Instance, host: string): Promise<readonly BlockDevice[]> {
  const found: BlockDevice[] = [];
  for (const device of await volumes.devices(instance)) {
    const [own] = await attachmentsOfHost(volumes, instance, host, device);
    if (own === undefined || own === device.attachmentId) {
      found.push(device);
    } else {
      const { connectionInfo } = await volumes.service.getAttachment(own);
      found.push({ ...device, attachmentId: own, connectionInfo });
    }
  }
  return found;
}

/** Returns the ids of the attachments by which a server uses a volume on a host. */
async function attachmentsOfHost(
  { service }: HostVolumes,
  { uuid }: Instance,
  host: string,
  device: BlockDevice,
): Promise<readonly string[]> {
  if (!isVolume(device) || device.volumeId === null) {
    return [];
  }
  const { uses } = await service.getVolume(device.volumeId);
  return uses.filter((use) => use.instanceUuid === uuid && use.host === host).map(({ attachmentId }) => attachmentId);
}

/**
 * Removes the attachments of this host, which a live migration has left.
 * @param before the devices before the migration; null: Block Storage knows the attachments of this host
 */
export async function letGo(
  { volumes, host }: Pick<AgentContext, "volumes" | "host">,
  instance: Instance,
  before: readonly BlockDevice[] | null,
): Promise<void> {
  const devices = await volumes.devices(instance);
  const present = new Set(devices.map(({ attachmentId }) => attachmentId));
  const own = before?.map(({ attachmentId }) => attachmentId) ?? [];
  if (before === null) {
    for (const device of devices) {
      own.push(...(await attachmentsOfHost(volumes, instance, host, device)));
    }
  }
  for (const id of own) {
    if (id !== null && !present.has(id)) {
      await volumes.service.deleteAttachment(id);
    }
  }
}
