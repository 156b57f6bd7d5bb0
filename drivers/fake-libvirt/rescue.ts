import type { DriverOperationOptions, ImageMeta, Instance, RescueOptions } from "../../src/virt/index.js";
import type { Domain, DomainDisk } from "./domain.js";
import { domainFromXml } from "./domain-xml.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { RESCUE_XML } from "./instance-files.js";
import { assertSupportedImage, nextTarget } from "./new-domain.js";

const RESCUE_DISK = "disk.rescue";

/** Boots a guest from another image with its own disks attached, and restores it. */
export class Rescue {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {GuestNotFound} {@link BuildAbortException} */
  async rescue(instance: Instance, { image, signal }: RescueOptions): Promise<void> {
    const { store, files, watcher, config, fence, console } = this.#parts;
    const { uuid } = instance;
    assertSupportedImage(image);
    await watcher.own(uuid, async () => {
      await this.#guests.state(instance);
      await this.#guests.take(config.delayRescue, signal);
      await this.#guests.state(instance);
      const original = files.disk(uuid, RESCUE_XML);
      const xml = (await fence.disks.readIfPresent(original)) ?? (await store.xml(uuid)) ?? "";
      await fence.disks.write(original, xml);
      await files.make(uuid, [{ name: RESCUE_DISK, gib: Math.max(image.minDisk, 1) }]);
      await store.setState(uuid, "shutoff");
      const domain = domainFromXml(xml, uuid);
      const path = files.disk(uuid, RESCUE_DISK);
      await store.define(isStable(image) ? withLastDisk(domain, path) : withFirstDisk(domain, path), "running");
      await console.boot(instance);
    });
  }

  /** @throws {GuestNotFound} */
  async unrescue(instance: Instance, options?: DriverOperationOptions): Promise<void> {
    const { store, files, watcher, config, fence, console } = this.#parts;
    const { uuid } = instance;
    const original = files.disk(uuid, RESCUE_XML);
    await watcher.own(uuid, async () => {
      await this.#guests.state(instance);
      await this.#guests.take(config.delayUnrescue, options?.signal);
      await this.#guests.state(instance);
      const xml = await fence.disks.readIfPresent(original);
      if (xml === undefined) {
        return;
      }
      await store.setState(uuid, "shutoff");
      await store.define(domainFromXml(xml, uuid), "running");
      await console.boot(instance);
      await fence.disks.remove(files.disk(uuid, RESCUE_DISK));
      await fence.disks.remove(original);
    });
  }
}

/** Whether the image asks for a rescue disk beside all disks of the guest, which keep their names. */
function isStable({ properties }: ImageMeta): boolean {
  return (properties.hw_rescue_bus ?? properties.hw_rescue_device) !== undefined;
}

function withLastDisk(domain: Domain, path: string): Domain {
  const used = new Set([...domain.disks, ...domain.volumes].map(({ target }) => target));
  return { ...domain, disks: [...domain.disks, { ...rescueDisk(path), target: nextTarget("vd", used) }] };
}

/** As in Nova, the guest has its local disks under later names, and none of its volumes. */
function withFirstDisk(domain: Domain, path: string): Domain {
  return { ...domain, disks: [rescueDisk(path), ...domain.disks.map(oneLater)], volumes: [] };
}

const rescueDisk = (path: string): DomainDisk => ({ path, format: "qcow2", target: "vda", bus: "virtio" });

/** `vda` → `vdb` */
function oneLater<T extends { readonly target: string }>(disk: T): T {
  return {
    ...disk,
    target: disk.target.slice(0, -1) + String.fromCharCode((disk.target.codePointAt(disk.target.length - 1) ?? 0) + 1),
  };
}
