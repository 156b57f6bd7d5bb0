import type { Conductor } from "../../conductor-client/port.js";
import { type BlockDevice, type BlockDeviceChanges, hasDevices, type Instance, isVolume } from "../../records/index.js";
import type { Logger } from "../../runtime/runtime.js";
import type { DriverHost } from "../../virt/driver-host.js";
import { LOCAL_DISKS } from "../../virt/driver-host.js";
import type { BlockDeviceInfo, VolumeConnector } from "../../virt/types.js";
import { ClientException, isVolumeError, VolumeError } from "../../volume-client/errors.js";
import type { NewVolume, Volume, VolumeAttachment, VolumeService } from "../../volume-client/volume-service.js";
import { toBlockDeviceInfo } from "./block-device-info.js";
import { chooseDeviceNames } from "./device-names.js";

export interface HostVolumesOptions {
  readonly conductor: Pick<Conductor, "call">;
  readonly driver: Pick<DriverHost, "getVolumeConnector" | "capabilities">;
  readonly service: VolumeService;
  readonly logger: Logger;
}

/** Statuses of a volume that Block Storage has not created yet. */
const PENDING: readonly string[] = ["creating", "downloading"];

/**
 * The block devices of one host's guests: their records, and the attachments of their volumes. Each method may be repeated
 * after the agent was killed inside it. Does nothing for servers without records.
 */
export class HostVolumes {
  readonly service: VolumeService;
  readonly #options: HostVolumesOptions;

  constructor(options: HostVolumesOptions) {
    this.service = options.service;
    this.#options = options;
  }

  /** Returns the records of an instance's block devices; none for an instance with the disks of its flavor only. */
  async devices(instance: Instance): Promise<readonly BlockDevice[]> {
    return hasDevices(instance) ? this.#options.conductor.call("block_devices", { instanceUuid: instance.uuid }) : [];
  }

  /** Returns the record of one block device of an instance. */
  async device(instance: Instance, uuid: string): Promise<BlockDevice | undefined> {
    return (await this.devices(instance)).find((device) => device.uuid === uuid);
  }

  /** Returns the disks of an instance's guest for the driver. */
  async info(instance: Instance): Promise<BlockDeviceInfo> {
    return hasDevices(instance) ? toBlockDeviceInfo(await this.devices(instance)) : LOCAL_DISKS;
  }

  /**
   * Chooses the names of the devices, makes the missing volumes, and connects this host to all of them.
   * @param completes whether the volumes are marked as in use; false if the guest comes first
   */
  async connect(instance: Instance, { completes = true } = {}): Promise<BlockDeviceInfo> {
    const devices = await this.devices(instance);
    if (devices.length === 0) {
      return LOCAL_DISKS;
    }
    const isFirst = devices.every(({ connectionInfo }) => connectionInfo === null);
    const addresses = chooseDeviceNames(instance, devices, ({ deviceName }) => !isFirst && deviceName !== null);
    const connected: BlockDevice[] = [];
    for (const device of devices) {
      const address = addresses.get(device) ?? {};
      connected.push(
        isVolume(device)
          ? await this.connectVolume(instance, device, { address, completes })
          : await this.save(device, address),
      );
    }
    return toBlockDeviceInfo(connected);
  }

  /** Marks the volumes of a guest as in use. */
  async complete(instance: Instance): Promise<void> {
    for (const { attachmentId } of await this.#volumes(instance)) {
      if (attachmentId !== null) {
        await this.service.completeAttachment(attachmentId);
      }
    }
  }

  /** Connects this host to one volume. Makes the volume and its attachment if they are missing. */
  async connectVolume(
    instance: Instance,
    device: BlockDevice,
    { address = {}, completes = true }: { readonly address?: BlockDeviceChanges; readonly completes?: boolean } = {},
  ): Promise<BlockDevice> {
    const [made, volume] = await this.#volumeOf(instance, device);
    this.#assertShareable(volume);
    const connector = await this.connector(instance, address.deviceName ?? device.deviceName);
    const attachment = await this.#attachmentOf(instance, made, volume, connector);
    const shared = volume.isMultiattach ? { multiattach: true } : {};
    const connected = await this.save(made, {
      ...address,
      volumeSize: device.volumeSize ?? volume.size,
      attachmentId: attachment.id,
      connectionInfo: { ...attachment.connectionInfo, ...shared },
    });
    if (completes) {
      await this.service.completeAttachment(attachment.id);
    }
    return connected;
  }

  /** Returns this host's side of a connection. */
  async connector(instance: Instance, deviceName: string | null): Promise<VolumeConnector> {
    const connector = await this.#options.driver.getVolumeConnector(instance);
    return deviceName === null ? connector : { ...connector, mountpoint: deviceName };
  }

  /**
   * Gives each volume a new attachment, which is reserved, and removes the present one with its connection. The record comes
   * first: an agent that has lost the host cannot write it, and then removes no attachment of the next one.
   */
  async reserveAgain(instance: Instance): Promise<void> {
    for (const device of await this.#volumes(instance)) {
      const { volumeId, attachmentId } = device;
      if (volumeId === null) {
        continue;
      }
      const reserved = await this.service.createAttachment(volumeId, instance.uuid, null);
      await this.save(device, { attachmentId: reserved.id });
      if (attachmentId !== null) {
        await this.service.deleteAttachment(attachmentId);
      }
    }
  }

  /**
   * Removes the attachments of an instance that is deleted, then the volumes that go with it. A volume that cannot be
   * released keeps no other one, nor the instance, as in Nova.
   */
  async release(instance: Instance): Promise<void> {
    const volumes = await this.#volumes(instance);
    for (const { attachmentId, volumeId } of volumes) {
      if (attachmentId !== null) {
        await this.#attempt(instance, `remove attachment ${attachmentId} of volume ${volumeId}`, () =>
          this.service.deleteAttachment(attachmentId),
        );
      }
    }
    for (const device of volumes) {
      await this.#deleteWithInstance(instance, device, { forgets: false });
    }
  }

  /**
   * Takes back what a failed build has connected.
   * @param deletesVolumes whether the volumes that go with the instance are deleted; false if another host builds it
   */
  async undoBuild(instance: Instance, { deletesVolumes }: { readonly deletesVolumes: boolean }): Promise<void> {
    for (const device of await this.#volumes(instance)) {
      const { attachmentId } = device;
      if (attachmentId !== null) {
        await this.#attempt(instance, `remove attachment ${attachmentId} of volume ${device.volumeId}`, async () => {
          await this.service.deleteAttachment(attachmentId);
          await this.save(device, { attachmentId: null, connectionInfo: null });
        });
      }
      if (deletesVolumes) {
        await this.#deleteWithInstance(instance, device);
      }
    }
  }

  /** Removes attachments of an instance that no record names: those of moves that have ended. */
  async dropOthers(instance: Instance): Promise<void> {
    if (!hasDevices(instance)) {
      return;
    }
    const named = new Set((await this.devices(instance)).map(({ attachmentId }) => attachmentId));
    for (const { id } of await this.service.listAttachments(instance.uuid)) {
      if (!named.has(id)) {
        await this.service.deleteAttachment(id);
      }
    }
  }

  /** Saves changes of a record, unless it has these values already. */
  async save(device: BlockDevice, changes: BlockDeviceChanges): Promise<BlockDevice> {
    const names = Object.keys(changes) as (keyof BlockDeviceChanges)[];
    if (names.every((name) => device[name] === changes[name])) {
      return device;
    }
    return this.#options.conductor.call("block_device_save", { uuid: device.uuid, changes });
  }

  async #volumes(instance: Instance): Promise<readonly BlockDevice[]> {
    return (await this.devices(instance)).filter(isVolume);
  }

  /** Returns the volume of a device, which is made if it does not exist yet. @throws VolumeNotCreated */
  async #volumeOf(instance: Instance, device: BlockDevice): Promise<readonly [BlockDevice, Volume]> {
    const { service } = this;
    let made = device;
    try {
      if (device.volumeId === null) {
        const volume = await service.createVolume(await this.#newVolume(instance, device), instance.uuid);
        // Saved before it is available, so that it is known if this agent dies.
        made = await this.save(device, { volumeId: volume.id });
        return [made, await service.untilAvailable(volume.id)];
      }
      const volume = await service.getVolume(device.volumeId);
      return [device, PENDING.includes(volume.status) ? await service.untilAvailable(volume.id) : volume];
    } catch (error) {
      if (isVolumeError(error, "VolumeNotCreated")) {
        await this.#deleteWithInstance(instance, made);
      }
      throw error;
    }
  }

  async #newVolume({ uuid }: Instance, device: BlockDevice): Promise<NewVolume> {
    const { imageId, snapshotId, volumeType, volumeSize, sourceType } = device;
    const name = sourceType === "blank" ? `${uuid}-blank-vol` : "";
    if (sourceType !== "snapshot" || snapshotId === null) {
      return { size: volumeSize ?? 0, name, imageId, snapshotId: null, volumeType };
    }
    const snapshot = await this.service.getSnapshot(snapshotId);
    const type = volumeType ?? (await this.service.getVolume(snapshot.volumeId)).volumeType;
    return { size: volumeSize ?? snapshot.size, name, imageId: null, snapshotId, volumeType: type };
  }

  /** @throws MultiattachNotSupportedByVirtDriver */
  #assertShareable({ id, isMultiattach }: Volume): void {
    if (isMultiattach && !this.#options.driver.capabilities.supportsMultiattach) {
      throw new VolumeError(
        "MultiattachNotSupportedByVirtDriver",
        `Volume ${id} has 'multiattach' set, which is not supported for this instance.`,
      );
    }
  }

  /** Connects the attachment of a device. One that is missing, as after a failed build elsewhere, is made again. */
  async #attachmentOf(
    { uuid }: Instance,
    device: BlockDevice,
    { id: volumeId }: Volume,
    connector: VolumeConnector,
  ): Promise<VolumeAttachment> {
    const { service } = this;
    if (device.attachmentId !== null) {
      try {
        return await service.updateAttachment(device.attachmentId, connector);
      } catch (error) {
        if (!isVolumeError(error, "VolumeAttachmentNotFound")) {
          throw error;
        }
      }
    }
    const reserved = await service.createAttachment(volumeId, uuid, null);
    await this.save(device, { attachmentId: reserved.id });
    return service.updateAttachment(reserved.id, connector);
  }

  async #deleteWithInstance(instance: Instance, device: BlockDevice, { forgets = true } = {}): Promise<void> {
    const { volumeId, deleteOnTermination, sourceType } = device;
    if (volumeId === null || !deleteOnTermination) {
      return;
    }
    await this.#attempt(instance, `delete volume ${volumeId}`, async () => {
      await this.service.deleteVolume(volumeId);
      if (forgets && sourceType !== "volume") {
        await this.save(device, { volumeId: null });
      }
    });
  }

  /** Logs errors of Block Storage, which must not keep an instance. */
  async #attempt({ uuid }: Instance, what: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (err) {
      if (!isVolumeError(err) && !(err instanceof ClientException)) {
        throw err;
      }
      this.#options.logger.warn(`could not ${what}; it is left`, { instance: uuid, err });
    }
  }
}
