import {
  type ConfirmMigrationOptions,
  type FinishMigrationOptions,
  type FinishRevertOptions,
  type Flavor,
  type Instance,
  InstanceFaultRollback,
  type MigrateDiskOptions,
  type Migration,
} from "../../src/virt/index.js";
import { guestName, toDiskSpecs } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { parsed } from "./hypervisor-folder.js";
import { QemuError } from "./qemu-error.js";

/**
 * Cold migration and resize (spec 8.3). The source stops the guest, marks its definition as left behind and renames its
 * folder to `<uuid>_resize`. The destination, which must share that folder, copies the disks. Until the move is
 * confirmed, the source can restore everything, whatever step it had reached.
 */
export class ColdMoves {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  async migrateDisk(instance: Instance, { flavor, timeout = 0, signal }: MigrateDiskOptions): Promise<string> {
    const { definitions, disks, layout, lease } = this.#parts;
    const { uuid } = instance;
    assertNotShrinking(instance, flavor);
    const definition = await this.#guests.definition(instance);
    await this.#guests.stop(uuid, timeout, signal);
    if (!definition.leftBehind) {
      await lease.assertCurrentEpoch();
      // A confirmed move failed to remove these files.
      await disks.removeAside(uuid);
      await definitions.put({ ...definition, rescued: false, leftBehind: true });
    }
    await disks.setAside(uuid);
    return JSON.stringify({ instancesPath: layout.instances });
  }

  async finish(instance: Instance, diskInfo: string, { powerOn, signal }: FinishMigrationOptions): Promise<void> {
    const { disks } = this.#parts;
    await disks.copyAside(sourceFolder(diskInfo), instance.uuid, toDiskSpecs(instance), signal);
    await this.#guests.define(instance, powerOn, signal);
  }

  async confirm(migration: Migration, { uuid }: Instance, { signal }: ConfirmMigrationOptions): Promise<void> {
    const { definitions, disks, runs, lease, context } = this.#parts;
    const sameHost = migration.sourceCompute === migration.destCompute;
    if (!sameHost && (await definitions.exists(uuid))) {
      if ((await definitions.get(uuid))?.leftBehind) {
        await runs.end(uuid, signal);
        await lease.assertCurrentEpoch();
        await definitions.remove(uuid);
      } else {
        context.logger.warn("guest left in place: another agent of this hypervisor has redefined it", {
          instance: uuid,
        });
      }
    }
    await disks.removeAside(uuid);
  }

  async revert(instance: Instance, { powerOn, signal }: FinishRevertOptions): Promise<void> {
    const { definitions, disks, layout, runs } = this.#parts;
    const { uuid } = instance;
    const definition = await definitions.get(uuid);
    if (definition && !definition.leftBehind && powerOn && (await runs.find(uuid))) {
      const untouched = (await this.#parts.context.files.stat(layout.aside(uuid))) === undefined;
      // The move never began or was already reverted, so the running guest must not lose its memory.
      if (untouched && (await this.#guests.find(uuid)) === "running") {
        return;
      }
    }
    await runs.end(uuid, signal);
    await disks.bringBack(uuid);
    if (toDiskSpecs(instance).some(({ name }) => name === "disk") && !(await disks.hasRoot(uuid))) {
      throw new QemuError(
        "DiskNotFound",
        `guest ${guestName(instance)} (${uuid}) cannot be restored: expected its disk in ${layout.instance(uuid)}`,
      );
    }
    await this.#guests.define(instance, powerOn, signal);
  }
}

/** @throws {InstanceFaultRollback} as Nova's ResizeError does: nothing was changed. */
function assertNotShrinking(instance: Instance, flavor: Flavor): void {
  const hasRoot = toDiskSpecs(instance).some(({ name }) => name === "disk");
  const smaller =
    (hasRoot && flavor.rootGb < instance.rootGb && "root disk") ||
    (flavor.ephemeralGb < instance.ephemeralGb && "ephemeral disk");
  if (smaller) {
    throw new InstanceFaultRollback(
      `Instance rollback performed due to: Resize error: Unable to resize disk down. The ${smaller} of flavor ` +
        `${flavor.name} is smaller than the guest's; choose a larger flavor`,
    );
  }
}

/** @throws {QemuError} */
function sourceFolder(diskInfo: string): string {
  const found = parsed(diskInfo);
  if (typeof found === "object" && found !== null && "instancesPath" in found) {
    if (typeof found.instancesPath === "string") {
      return found.instancesPath;
    }
  }
  throw new QemuError(
    "DiskNotFound",
    `the source's disk information is not from driver qemu: expected JSON with instancesPath, found ${diskInfo.slice(0, 60)}; ` +
      "both hosts of a migration must have the same driver",
  );
}
