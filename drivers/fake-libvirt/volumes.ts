import {
  type AttachedVolume,
  type GuestVolume,
  type Instance,
  md5,
  type VolumeConnector,
} from "../../src/virt/index.js";
import type { Domain, VolumeDisk } from "./domain.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { DiskNotFound } from "./instance-files.js";
import { domainName, toVolumeDisk } from "./new-domain.js";

/** The volumes of guests, which are disks in their XML without a file of this hypervisor. */
export class Volumes {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** Returns the same connector whenever the host is the same. */
  connector(): VolumeConnector {
    const { host, myIp } = this.#parts.context;
    return {
      platform: "x86_64",
      os_type: "linux",
      ip: myIp,
      host,
      multipath: false,
      enforce_multipath: true,
      initiator: `iqn.1994-05.com.redhat:${md5(host).slice(0, 12)}`,
      do_local_attach: false,
      nvme_native_multipath: false,
    };
  }

  attach(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#change(instance, ({ volumes }) => [
      ...volumes.filter(({ volumeId }) => volumeId !== volume.volumeId),
      toVolumeDisk(volume),
    ]);
  }

  detach(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#change(instance, ({ volumes }) => volumes.filter(({ volumeId }) => volumeId !== volume.volumeId));
  }

  swap(instance: Instance, volumes: { readonly old: GuestVolume; readonly new: GuestVolume }): Promise<void> {
    const replaced = [volumes.old.volumeId, volumes.new.volumeId];
    return this.#change(instance, (domain) => {
      if (!domain.volumes.some(({ volumeId }) => replaced.includes(volumeId))) {
        throw missing(instance, volumes.old);
      }
      return [...domain.volumes.filter(({ volumeId }) => !replaced.includes(volumeId)), toVolumeDisk(volumes.new)];
    });
  }

  extend(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#change(instance, (domain) => {
      if (!domain.volumes.some(({ volumeId }) => volumeId === volume.volumeId)) {
        throw missing(instance, volume);
      }
      return domain.volumes.map((disk) =>
        disk.volumeId === volume.volumeId ? { ...disk, sizeGb: volume.size } : disk,
      );
    });
  }

  async list(instance: Instance): Promise<readonly AttachedVolume[]> {
    await this.#guests.state(instance);
    const domain = await this.#parts.store.get(instance.uuid);
    return (domain?.volumes ?? []).map(({ volumeId, target }) => ({ volumeId, deviceName: `/dev/${target}` }));
  }

  async #change(instance: Instance, change: (domain: Domain) => readonly VolumeDisk[]): Promise<void> {
    const { store, watcher } = this.#parts;
    await watcher.own(instance.uuid, async () => {
      await this.#guests.state(instance);
      const domain = await store.get(instance.uuid);
      if (domain !== undefined) {
        await store.define({ ...domain, volumes: change(domain) });
      }
    });
  }
}

function missing(instance: Instance, { volumeId }: GuestVolume): DiskNotFound {
  return new DiskNotFound(`guest ${domainName(instance)} (${instance.uuid}) has no volume ${volumeId}`);
}
