import { basename, join } from "node:path";
import { folderOfConnection } from "./connection-uri.js";
import type { Domain, DomainState } from "./domain.js";
import { DomainStore } from "./domain-store.js";
import { domainFromXml, domainToXml } from "./domain-xml.js";
import type { Fence } from "./fence.js";
import type { HypervisorParts } from "./guests.js";
import { HypervisorFolder } from "./hypervisor.js";
import { InstanceFiles } from "./instance-files.js";

/** The hypervisor that a guest migrates to. */
export interface Destination {
  readonly uri: string;
  /** Folder of its instances. */
  readonly instancesPath: string;
}

/** What is stored of a live migration under way, so that the agent after a killed one can take it back. */
interface StoredMigration {
  readonly destination: Destination;
  readonly sharedInstanceFiles: boolean;
  /** What the guest did when the migration began. */
  readonly state: DomainState;
  readonly xml: string;
}

/**
 * One guest's way from this hypervisor to another. It is paused here, then appears there, then vanishes here: whichever
 * agent is killed in between, it runs on one of them at most, and until {@link finish} everything can be taken back.
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

  /** Remembers what is to be moved, before anything is. */
  static async begin(
    domain: Domain,
    state: DomainState,
    destination: Destination,
    sharedInstanceFiles: boolean,
    parts: HypervisorParts,
  ): Promise<Handover> {
    const stored = { destination, sharedInstanceFiles, state, xml: domainToXml(domain) };
    await parts.fence.guests.write(parts.folder.migrationFile(domain.uuid), `${JSON.stringify(stored, null, 2)}\n`);
    return new Handover(domain.uuid, stored, parts, false);
  }

  /** What a killed agent was about. Undefined: nothing. */
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
    await this.#there.define({ ...domain, disks }, this.#stored.state);
  }

  async vanishHere(): Promise<void> {
    await this.#parts.store.undefine(this.#uuid);
  }

  /** From now on the guest belongs to the destination. */
  async finish(): Promise<void> {
    await forget(this.#uuid, this.#parts);
  }

  /** The guest is here again, as it was, and no longer there. A guest that was stopped meanwhile stays so. */
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

  /** Removes the disks that were made there. */
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

/** Undefined: not one. */
export function destinationIn(value: unknown): Destination | undefined {
  if (typeof value !== "object" || value === null || !("uri" in value) || !("instancesPath" in value)) {
    return undefined;
  }
  const { uri, instancesPath } = value;
  return typeof uri === "string" && typeof instancesPath === "string" ? { uri, instancesPath } : undefined;
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
  const { destination, sharedInstanceFiles, state, xml } = parsed as Record<string, unknown>;
  const found = destinationIn(destination);
  if (!found || typeof sharedInstanceFiles !== "boolean" || typeof xml !== "string") {
    return undefined;
  }
  if (state !== "running" && state !== "paused") {
    return undefined;
  }
  return { destination: found, sharedInstanceFiles, state, xml };
}
