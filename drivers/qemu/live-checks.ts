import {
  type Instance,
  type LiveMigrateData,
  type LiveMigrationCheckOptions,
  MigrationPreCheckError,
} from "../../src/virt/index.js";
import { guestName, toDiskSpecs } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";

const GIB = 1024 ** 3;

/** A disk of the migrating guest, with the size that the destination must create. */
export interface MovedDisk {
  readonly name: string;
  readonly bytes: number;
}

/** The checks of both hosts before a live migration: storage, disk space, the accelerator. */
export class LiveChecks {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /**
   * Runs on the destination. Creates a token file in the folder of instances, which the source finds if it shares that
   * folder.
   */
  async atDestination(
    instance: Instance,
    { blockMigration, diskOverCommit }: LiveMigrationCheckOptions,
    free: { readonly kvm: boolean; readonly diskFreeGb: number },
  ): Promise<LiveMigrateData> {
    const { disks, layout, context } = this.#parts;
    if (!["arriving", undefined].includes(await this.#guests.find(instance.uuid))) {
      rejectMigration(instance, `it is on hypervisor ${layout.root} already; destroy that guest first`);
    }
    return {
      blockMigration: blockMigration ?? false,
      sharedInstanceFiles: false,
      requestedBlockMigration: blockMigration,
      sharedStorageFile: await disks.makeToken(layout.instances, context.random),
      kvm: free.kvm,
      diskFreeGb: diskOverCommit ? null : free.diskFreeGb,
      destinationFolder: layout.root,
      destinationInstances: layout.instances,
    };
  }

  /** Runs on the source. Decides what is copied. */
  async atSource(instance: Instance, data: LiveMigrateData, kvm: boolean): Promise<LiveMigrateData> {
    const { disks, layout, context } = this.#parts;
    const { uuid } = instance;
    const definition = await this.#guests.definition(instance);
    if (definition.rescued) {
      rejectMigration(instance, "it is rescued; unrescue it first");
    }
    const { destinationFolder, destinationInstances } = data;
    // Another machine may have folders of the same paths. Only the destination's contain the token file.
    const isHere =
      typeof destinationFolder === "string" &&
      (await context.files.stat(destinationFolder)) !== undefined &&
      (typeof destinationInstances !== "string" ||
        (await disks.seesToken(destinationInstances, data.sharedStorageFile)));
    if (!isHere) {
      rejectMigration(
        instance,
        `the destination's folder ${String(destinationFolder)} is not on this machine: both hosts must run on one machine`,
      );
    }
    if (data.kvm !== kvm) {
      rejectMigration(instance, "only one of the hosts has KVM; migrate it cold");
    }
    const sharedInstanceFiles = await disks.seesToken(layout.instances, data.sharedStorageFile);
    const moved: readonly MovedDisk[] = await Promise.all(
      definition.disks.map(async (name) => ({ name, bytes: await disks.virtualSize(layout.disk(uuid, name)) })),
    );
    const hasDisks = toDiskSpecs(instance).length > 0;
    const blockMigration =
      typeof data.requestedBlockMigration === "boolean"
        ? data.requestedBlockMigration
        : hasDisks && !sharedInstanceFiles;
    if (blockMigration && sharedInstanceFiles) {
      rejectMigration(instance, "block migration cannot be used with shared storage; set block_migration to auto");
    }
    if (!blockMigration && !sharedInstanceFiles && hasDisks) {
      rejectMigration(instance, "its disks are not on storage that both hosts share; use block migration");
    }
    const needed = moved.reduce((sum, { bytes }) => sum + bytes, 0) / GIB;
    if (blockMigration && typeof data.diskFreeGb === "number" && needed > data.diskFreeGb) {
      rejectMigration(
        instance,
        `its disks need ${needed} GiB, but only ${data.diskFreeGb} GiB are free; choose another host`,
      );
    }
    const { machine, cpu } = definition;
    return { ...data, blockMigration, sharedInstanceFiles, disks: moved, machine, cpu };
  }

  async cleanup(data: LiveMigrateData): Promise<void> {
    await this.#parts.disks.removeToken(this.#parts.layout.instances, data.sharedStorageFile);
  }
}

function rejectMigration(instance: Instance, why: string): never {
  throw new MigrationPreCheckError(
    `Migration pre-check error: guest ${guestName(instance)} (${instance.uuid}) cannot be migrated live: ${why}`,
  );
}
