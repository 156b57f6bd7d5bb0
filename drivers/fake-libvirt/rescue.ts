import type { DriverOperationOptions, Instance, RescueOptions } from "../../src/virt/index.js";
import { domainFromXml } from "./domain-xml.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { assertSupportedImage } from "./new-domain.js";

const RESCUE_DISK = "disk.rescue";
/** Nova's name. The guest is rescued if and only if this file exists. */
const UNRESCUE_XML = "unrescue.xml";

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
      const original = files.disk(uuid, UNRESCUE_XML);
      const xml = (await fence.disks.readIfPresent(original)) ?? (await store.xml(uuid)) ?? "";
      await fence.disks.write(original, xml);
      await files.make(uuid, [{ name: RESCUE_DISK, gib: Math.max(image.minDisk, 1) }]);
      await store.setState(uuid, "shutoff");
      const domain = domainFromXml(xml, uuid);
      const path = files.disk(uuid, RESCUE_DISK);
      const disks = [{ path, format: "qcow2" as const, target: "vda" }, ...domain.disks.map(oneLater)];
      await store.define({ ...domain, disks }, "running");
      await console.boot(instance);
    });
  }

  /** @throws {GuestNotFound} */
  async unrescue(instance: Instance, options?: DriverOperationOptions): Promise<void> {
    const { store, files, watcher, config, fence, console } = this.#parts;
    const { uuid } = instance;
    const original = files.disk(uuid, UNRESCUE_XML);
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

/** `vda` → `vdb` */
function oneLater<T extends { readonly target: string }>(disk: T): T {
  return {
    ...disk,
    target: disk.target.slice(0, -1) + String.fromCharCode((disk.target.codePointAt(disk.target.length - 1) ?? 0) + 1),
  };
}
