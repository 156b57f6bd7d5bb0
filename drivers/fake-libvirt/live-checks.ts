import {
  type Instance,
  type LiveMigrateData,
  type LiveMigrationCheckOptions,
  MigrationPreCheckError,
} from "../../src/virt/index.js";
import { folderOfConnection } from "./connection-uri.js";
import { CPU_MODELS, type CpuModel } from "./cpu-models.js";
import { diskGbOf } from "./domain.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { type Destination, destinationIn } from "./handover.js";
import { HypervisorFolder, readIdentity } from "./hypervisor.js";
import { domainName, toDiskSpecs } from "./new-domain.js";

/** What both hosts look at before a live migration: storage, CPU, room, devices. */
export class LiveChecks {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;
  readonly #cpu: CpuModel;

  constructor(parts: HypervisorParts, guests: Guests, cpu: CpuModel) {
    this.#parts = parts;
    this.#guests = guests;
    this.#cpu = cpu;
  }

  /** D. Leaves a file in the folder of instances, for the source to find if it has the same. */
  async atDestination(
    instance: Instance,
    { blockMigration, diskOverCommit }: LiveMigrationCheckOptions,
  ): Promise<LiveMigrateData> {
    const { store, files, config, context } = this.#parts;
    if ((await store.exists(instance.uuid)) && !(await store.get(instance.uuid))?.awaited) {
      rejectMigration(instance, `it is on hypervisor ${this.#parts.folder.path} already; destroy that guest first`);
    }
    const used = (await store.all()).reduce((total, domain) => total + diskGbOf(domain), 0);
    return {
      blockMigration: blockMigration ?? false,
      sharedInstanceFiles: false,
      requestedBlockMigration: blockMigration,
      sharedStorageFile: await files.makeRootToken(context.random),
      cpuModel: config.cpuModel,
      cpuFeatures: this.#cpu.features,
      diskFreeGb: diskOverCommit ? null : config.diskGb - used,
      destination: await this.destination(),
    };
  }

  /** S. Decides what is copied. */
  async atSource(instance: Instance, data: LiveMigrateData): Promise<LiveMigrateData> {
    const { store, files } = this.#parts;
    await this.#guests.state(instance);
    const domain = await store.get(instance.uuid);
    if (!domain) {
      return rejectMigration(instance, "its XML cannot be read; reboot it hard, which makes it anew");
    }
    if (domain.devices.length > 0) {
      rejectMigration(instance, "it has devices of this host; migrate it cold");
    }
    if (data.guestMadeAnew) {
      return { ...data, blockMigration: false, sharedInstanceFiles: false };
    }
    await this.#assertReachable(instance, data);
    assertCpuCompatible(instance, domain.cpuModel, data);
    const sharedInstanceFiles = await files.seesRootToken(data.sharedStorageFile);
    const hasDisks = toDiskSpecs(instance).length > 0;
    const blockMigration =
      typeof data.requestedBlockMigration === "boolean"
        ? data.requestedBlockMigration
        : hasDisks && !sharedInstanceFiles;
    if (blockMigration && sharedInstanceFiles) {
      rejectMigration(
        instance,
        "block migration cannot be used with shared storage; leave block_migration to be found out",
      );
    }
    if (!blockMigration && !sharedInstanceFiles && hasDisks) {
      rejectMigration(instance, "its disks are on no storage that both hosts share; migrate it with block migration");
    }
    const needed = diskGbOf(domain);
    if (blockMigration && typeof data.diskFreeGb === "number" && needed > data.diskFreeGb) {
      rejectMigration(
        instance,
        `its disks need ${needed} GiB, but only ${data.diskFreeGb} GiB are free; choose another host`,
      );
    }
    return { ...data, blockMigration, sharedInstanceFiles };
  }

  async cleanup(data: LiveMigrateData): Promise<void> {
    await this.#parts.files.removeRootToken(data.sharedStorageFile);
  }

  /** This hypervisor, as another one reaches it. */
  async destination(): Promise<Destination & { readonly hypervisor: string }> {
    const { config, folder, files, context } = this.#parts;
    const identity = await readIdentity(folder, context.files);
    return { uri: config.connectionUri ?? "", instancesPath: files.root, hypervisor: identity?.uuid ?? "" };
  }

  /** The folder may be of the same name, and of another machine. */
  async #assertReachable(instance: Instance, { destination }: LiveMigrateData): Promise<void> {
    const found = destinationIn(destination);
    if (!found) {
      return rejectMigration(instance, "the destination names no hypervisor: both hosts must have this driver");
    }
    const folder = new HypervisorFolder(folderOfConnection(found.uri));
    const identity = await readIdentity(folder, this.#parts.context.files);
    const { hypervisor } = destination as { readonly hypervisor?: unknown };
    if (identity === undefined || identity.uuid !== hypervisor) {
      rejectMigration(
        instance,
        `${folder.path} is not the destination's hypervisor here: both hosts must see the same folders`,
      );
    }
  }
}

function assertCpuCompatible(instance: Instance, cpuModel: string, { cpuFeatures, cpuModel: other }: LiveMigrateData) {
  const offered: ReadonlySet<unknown> = new Set(Array.isArray(cpuFeatures) ? cpuFeatures : []);
  const missing = (CPU_MODELS[cpuModel]?.features ?? []).filter((feature) => !offered.has(feature));
  if (missing.length > 0) {
    rejectMigration(
      instance,
      `its CPU is ${cpuModel}, but ${String(other)} of the destination lacks ${missing.join(", ")}`,
    );
  }
}

function rejectMigration(instance: Instance, why: string): never {
  throw new MigrationPreCheckError(
    `Migration pre-check error: guest ${domainName(instance)} (${instance.uuid}) cannot be migrated live: ${why}`,
  );
}
