import { basename, join } from "node:path";
import {
  type GuestVolume,
  type Instance,
  type LiveMigrateData,
  type LiveMigrationCheckOptions,
  MigrationPreCheckError,
} from "../../src/virt/index.js";
import { type Domain, type DomainState, diskGbOf, type VolumeDisk } from "./domain.js";
import { DomainStore } from "./domain-store.js";
import { domainFromXml, domainToXml } from "./domain-xml.js";
import type { Fence } from "./fence.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { CPU_MODELS, type CpuModel } from "./host-cpu.js";
import { folderOfConnection, HypervisorFolder, readIdentity } from "./hypervisor.js";
import { InstanceFiles } from "./instance-files.js";
import { domainName, toVolumeDisk } from "./new-domain.js";

/** The hypervisor that a guest migrates to. */
interface Destination {
  readonly uri: string;
  /** Folder of its instances. */
  readonly instancesPath: string;
}

/** The stored record of a live migration in progress, from which the next agent can undo it if this one is killed. */
interface StoredMigration {
  readonly destination: Destination;
  readonly sharedInstanceFiles: boolean;
  /** The guest's state when the migration began. */
  readonly state: DomainState;
  readonly xml: string;
  /** The guest's volumes with the connections of the destination. */
  readonly volumes: readonly VolumeDisk[];
}

/**
 * The handover of one guest from this hypervisor to another. The guest is paused here, then appears there, then
 * vanishes here. If an agent is killed in between, the guest runs on at most one of them. Until {@link finish},
 * everything can be undone.
 */
export class Handover {
  readonly #uuid: string;
  readonly #stored: StoredMigration;
  readonly #parts: HypervisorParts;
  readonly #there: DomainStore;
  #paused: boolean;

  private constructor(uuid: string, stored: StoredMigration, parts: HypervisorParts, paused: boolean) {
    this.#uuid = uuid;
    this.#stored = stored;
    this.#parts = parts;
    this.#paused = paused;
    this.#there = new DomainStore(new HypervisorFolder(folderOfConnection(stored.destination.uri)), {
      ...parts.context,
      files: parts.fence.disks,
    });
  }

  /** Stores the record of the migration before anything is moved. */
  static async begin(
    domain: Domain,
    migration: Omit<StoredMigration, "xml">,
    parts: HypervisorParts,
  ): Promise<Handover> {
    const stored = { ...migration, xml: domainToXml(domain) };
    await parts.fence.guests.write(parts.folder.migrationFile(domain.uuid), `${JSON.stringify(stored, null, 2)}\n`);
    return new Handover(domain.uuid, stored, parts, false);
  }

  /** Returns the handover that a killed agent was performing, or undefined if there is none. */
  static async leftOver(uuid: string, parts: HypervisorParts): Promise<Handover | undefined> {
    const text = await parts.context.files.readIfPresent(parts.folder.migrationFile(uuid));
    if (text === undefined) {
      return undefined;
    }
    const stored = storedMigration(text);
    // Whether the killed agent had paused the guest is unknown.
    if (stored) {
      return new Handover(uuid, stored, parts, true);
    }
    parts.context.logger.warn("the record of an interrupted live migration cannot be read and is dropped", {
      instance: uuid,
    });
    await forget(uuid, parts);
    return undefined;
  }

  async pauseHere(): Promise<void> {
    this.#paused = true;
    await this.#parts.store.setState(this.#uuid, "paused");
  }

  /** The guest must be paused here. */
  async appearThere(): Promise<void> {
    const domain = domainFromXml(this.#stored.xml, this.#uuid);
    const folder = join(this.#stored.destination.instancesPath, this.#uuid);
    const disks = domain.disks.map((disk) => ({ ...disk, path: join(folder, basename(disk.path)) }));
    const connected = new Map(this.#stored.volumes.map((volume) => [volume.volumeId, volume]));
    const volumes = domain.volumes.map((volume) => connected.get(volume.volumeId) ?? volume);
    await this.#there.define({ ...domain, disks, volumes }, this.#stored.state);
  }

  async vanishHere(): Promise<void> {
    await this.#parts.store.undefine(this.#uuid);
  }

  /** From here on, the guest belongs to the destination. */
  async finish(): Promise<void> {
    await forget(this.#uuid, this.#parts);
  }

  /** Restores the guest here as it was and removes it there. A guest that was stopped in the meantime stays stopped. */
  async takeBack(): Promise<void> {
    const { store } = this.#parts;
    const wasThere = await this.#there.exists(this.#uuid);
    await this.#there.undefine(this.#uuid);
    const state = await store.state(this.#uuid);
    if (state === undefined && wasThere) {
      await store.define(domainFromXml(this.#stored.xml, this.#uuid), this.#stored.state);
    } else if (this.#paused && state === "paused" && this.#stored.state !== "paused") {
      await store.setState(this.#uuid, this.#stored.state);
    }
    await forget(this.#uuid, this.#parts);
  }

  /** Removes the disks that were created there. */
  async removeFilesThere(): Promise<void> {
    if (this.#stored.sharedInstanceFiles) {
      return;
    }
    const { instancesPath } = this.#stored.destination;
    if (instancesPath === this.#parts.files.root) {
      return;
    }
    await new InstanceFiles({ instances: instancesPath }, this.#parts.fence.disks).remove(this.#uuid);
  }
}

export async function forget(
  uuid: string,
  { fence, folder }: { readonly fence: Fence; readonly folder: HypervisorFolder },
): Promise<void> {
  await fence.guests.remove(folder.migrationFile(uuid));
}

/** Returns undefined if the value is not a destination. */
export function destinationIn(value: unknown): Destination | undefined {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("instancesPath" in value)) {
    return undefined;
  }
  const { uri, instancesPath } = value;
  return typeof uri === "string" && typeof instancesPath === "string" ? { uri, instancesPath } : undefined;
}

/** Returns the guest's volumes as the destination has connected them. */
export function volumesIn({ volumes }: LiveMigrateData): readonly VolumeDisk[] {
  // They come from the same driver on the other host.
  return Array.isArray(volumes) ? (volumes as readonly GuestVolume[]).map(toVolumeDisk) : [];
}

function storedMigration(text: string): StoredMigration | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) {
    return undefined;
  }
  const { destination, sharedInstanceFiles, state, xml, volumes } = parsed as Record<string, unknown>;
  const found = destinationIn(destination);
  if (!found || typeof sharedInstanceFiles !== "boolean" || typeof xml !== "string") {
    return undefined;
  }
  if (state !== "running" && state !== "paused") {
    return undefined;
  }
  // An older agent stored no volumes.
  const stored = Array.isArray(volumes) ? (volumes as readonly VolumeDisk[]) : [];
  return { destination: found, sharedInstanceFiles, state, xml, volumes: stored };
}

/** The checks of both hosts before a live migration: storage, CPU, disk space, devices. */
export class LiveChecks {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;
  readonly #cpu: CpuModel;

  constructor(parts: HypervisorParts, guests: Guests, cpu: CpuModel) {
    this.#parts = parts;
    this.#guests = guests;
    this.#cpu = cpu;
  }

  /**
   * Runs on the destination. Creates a token file in the folder of instances, which the source finds if it shares that
   * folder.
   */
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

  /** Runs on the source. Decides what is copied. */
  async atSource(instance: Instance, data: LiveMigrateData): Promise<LiveMigrateData> {
    const { store, files } = this.#parts;
    await this.#guests.state(instance);
    const domain = await store.get(instance.uuid);
    if (!domain) {
      return rejectMigration(instance, "its XML cannot be read; reboot it hard to recreate it");
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
    const hasDisks = domain.disks.length > 0;
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

  /** Returns the address of this hypervisor for other hosts. */
  async destination(): Promise<Destination & { readonly hypervisor: string }> {
    const { config, folder, files, context } = this.#parts;
    const identity = await readIdentity(folder, context.files);
    return { uri: config.connectionUri ?? "", instancesPath: files.root, hypervisor: identity?.uuid ?? "" };
  }

  /** Rejects a folder of the same path on another machine. */
  async #assertReachable(instance: Instance, { destination }: LiveMigrateData): Promise<void> {
    const found = destinationIn(destination);
    if (!found) {
      return rejectMigration(
        instance,
        "the destination's data contains no hypervisor: both hosts must use this driver",
      );
    }
    const folder = new HypervisorFolder(folderOfConnection(found.uri));
    const identity = await readIdentity(folder, this.#parts.context.files);
    const { hypervisor } = destination as { readonly hypervisor?: unknown };
    if (identity === undefined || identity.uuid !== hypervisor) {
      rejectMigration(
        instance,
        `${folder.path} is not the destination's hypervisor on this host: both hosts must share their folders`,
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
