import {
  type BlockDeviceInfo,
  type ConfirmMigrationOptions,
  type FinishMigrationOptions,
  type FinishRevertOptions,
  type Flavor,
  type Instance,
  InstanceFaultRollback,
  type MigrateDiskOptions,
  type Migration,
} from "../../src/virt/index.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { DiskNotFound, type DiskSpec } from "./instance-files.js";
import { domainName, toDiskSpecs } from "./new-domain.js";

/**
 * Cold migration and resize (spec 8.3). The source stops the guest, marks its XML as left behind and renames its folder
 * to `<uuid>_resize`. The destination copies the disks from there. Until the move is confirmed, the source can restore
 * everything, whatever step it had reached.
 */
export class ColdMoves {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  async migrateDisk(instance: Instance, { flavor, blockDevices, signal }: MigrateDiskOptions): Promise<string> {
    const { store, files, watcher, config } = this.#parts;
    const { uuid } = instance;
    if (!config.allowDiskShrink) {
      assertNotShrinking(instance, flavor, blockDevices);
    }
    return watcher.own(uuid, async () => {
      await this.#guests.state(instance);
      await this.#guests.take(config.delayMigrateDisk, signal);
      // The guest may have been destroyed during the delay.
      const runs = (await this.#guests.state(instance)) !== "shutoff";
      const domain = await store.get(uuid);
      if (runs && domain !== undefined) {
        await store.setState(uuid, "shutoff", { fleeting: !domain.leftBehind });
      }
      if (!domain?.leftBehind) {
        // A confirmed move failed to remove these files.
        await files.removeAside(uuid);
        if (domain) {
          await store.define({ ...domain, leftBehind: true });
        }
      }
      await files.setAside(uuid);
      // The destination may run on another machine and may not share this folder.
      return JSON.stringify({ instancesPath: files.root, disks: await files.disksAside(files.root, uuid) });
    });
  }

  async finish(
    instance: Instance,
    diskInfo: string,
    { allocations, network, blockDevices, powerOn, signal }: FinishMigrationOptions,
  ): Promise<void> {
    const { files, watcher, config } = this.#parts;
    const { uuid } = instance;
    const left = leftBySource(diskInfo);
    await watcher.own(uuid, async () => {
      await this.#guests.connect(uuid, network, signal, () => this.#guests.take(config.delayFinishMigration, signal));
      // A source without disks has nothing to copy, so the disks are created as for a new guest.
      const disks =
        left === null
          ? toDiskSpecs(instance, blockDevices)
          : withCopies(instance, blockDevices, {
              disks: left.disks ?? (await files.disksAside(left.instancesPath, uuid)),
              root: left.instancesPath,
            });
      await files.make(uuid, disks);
      await this.#guests.define(instance, { allocations, blockDevices, state: powerOn ? "running" : "shutoff" });
    });
  }

  async confirm(migration: Migration, instance: Instance, { signal }: ConfirmMigrationOptions): Promise<void> {
    const { store, files, watcher, config, context } = this.#parts;
    const { uuid } = instance;
    await watcher.own(uuid, async () => {
      await this.#guests.take(config.delayConfirmMigration, signal);
      const sameHost = migration.sourceCompute === migration.destCompute;
      if (!sameHost && (await store.exists(uuid))) {
        if ((await store.get(uuid))?.leftBehind) {
          await store.undefine(uuid);
        } else {
          context.logger.warn("guest left in place: another agent of this hypervisor has redefined it", {
            instance: uuid,
          });
        }
      }
      await files.removeAside(uuid);
    });
  }

  async revert(
    instance: Instance,
    { allocations, network, blockDevices, powerOn, signal }: FinishRevertOptions,
  ): Promise<void> {
    const { files, watcher, config } = this.#parts;
    const { uuid } = instance;
    await watcher.own(uuid, async () => {
      await this.#guests.connect(uuid, network, signal, () => this.#guests.take(config.delayRevertMigration, signal));
      await files.bringBack(uuid);
      if (hasRootDisk(instance, blockDevices) && !(await files.hasDisk(uuid))) {
        throw new DiskNotFound(
          `guest ${domainName(instance)} (${uuid}) cannot be restored: expected its disk in ${files.folder(uuid)}`,
        );
      }
      await this.#guests.define(instance, { allocations, blockDevices, state: powerOn ? "running" : "shutoff" });
    });
  }
}

function hasRootDisk(instance: Instance, blockDevices: BlockDeviceInfo): boolean {
  return toDiskSpecs(instance, blockDevices).some(({ name }) => name === "disk");
}

/** @throws {InstanceFaultRollback} as Nova's ResizeError does: nothing was changed. */
function assertNotShrinking(instance: Instance, flavor: Flavor, blockDevices: BlockDeviceInfo): void {
  const smaller =
    (hasRootDisk(instance, blockDevices) && flavor.rootGb < instance.rootGb && "root disk") ||
    (flavor.ephemeralGb < instance.ephemeralGb && "ephemeral disk");
  if (!smaller) {
    return;
  }
  throw new InstanceFaultRollback(
    `Instance rollback performed due to: Resize error: Unable to resize disk down. The ${smaller} of flavor ` +
      `${flavor.name} is smaller than the guest's; choose a larger flavor`,
  );
}

/** The source's description of the disks that it has set aside. */
interface LeftBySource {
  readonly instancesPath: string;
  /** Absent if the source runs an older agent, whose folder the destination can read. */
  readonly disks?: readonly DiskSpec[];
}

/** Parses the source's disk info. Returns null if the source has no disks, as with Nova's own fake hypervisors. */
function leftBySource(diskInfo: string): LeftBySource | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(diskInfo);
  } catch {
    // Reported by the error below.
  }
  if (diskInfo === "{}") {
    return null;
  }
  if (typeof parsed === "object" && parsed !== null && "instancesPath" in parsed) {
    const { instancesPath } = parsed;
    if (typeof instancesPath === "string") {
      return "disks" in parsed && areDisks(parsed.disks) ? { instancesPath, disks: parsed.disks } : { instancesPath };
    }
  }
  throw new DiskNotFound(
    `the source's disk information is not from fake-libvirt: expected JSON with instancesPath, found ${diskInfo.slice(0, 60)}; ` +
      "both hosts of a migration must have the same driver",
  );
}

function areDisks(value: unknown): value is readonly DiskSpec[] {
  return (
    Array.isArray(value) &&
    value.every((each) => typeof each?.name === "string" && typeof each.gib === "number" && each.gib >= 0)
  );
}

/** Returns the guest's disks: copies of the source's disks, enlarged if the flavor requires it. */
function withCopies(
  instance: Instance,
  blockDevices: BlockDeviceInfo,
  { disks, root }: { readonly disks: readonly DiskSpec[]; readonly root: string },
): readonly DiskSpec[] {
  const copies = new Map(disks.map(({ name, gib }) => [name, gib]));
  if (hasRootDisk(instance, blockDevices) && !copies.has("disk")) {
    throw new DiskNotFound(
      `guest ${domainName(instance)} (${instance.uuid}) cannot be migrated here: the source has no disk of it set aside in ${root}`,
    );
  }
  return toDiskSpecs(instance, blockDevices).map(({ name, gib }) => ({
    name,
    gib: Math.max(gib, copies.get(name) ?? 0),
  }));
}
