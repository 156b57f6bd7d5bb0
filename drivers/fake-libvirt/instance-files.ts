import { join } from "node:path";
import {
  bytesOf,
  configDriveFiles,
  type Files,
  ImageServiceNotFound,
  type Instance,
  type Random,
  type SnapshotOptions,
} from "../../src/virt/index.js";
import { UUID } from "./domain.js";

const GIB = 1024 ** 3;

const TOKEN_PREFIX = ".shared-storage-";

/** Tokens come from other hosts, so nothing else may become part of a path. */
const TOKEN = new RegExp(`^${TOKEN_PREFIX.replace(".", "\\.")}[0-9a-f]{16}$`);

const DISK = /^disk(\.(eph\d+|swap))?$/;

/** Stored beside the disks and removed with them. */
const CONFIG_DRIVE = "disk.config";

/** Definition of a rescued guest as it was, under Nova's name. The guest is rescued if and only if this file exists. */
export const RESCUE_XML = "unrescue.xml";

/** A guest has no such disk, or its file is missing. */
export class DiskNotFound extends Error {
  override readonly name = "DiskNotFound";
}

/** A disk that a guest needs. */
export interface DiskSpec {
  /** `disk`, `disk.eph0` or `disk.swap`. */
  readonly name: string;
  readonly gib: number;
}

/** Instance directories: `<instances_path>/<uuid>/disk`. Other hosts may share them. */
export class InstanceFiles {
  readonly #place: { readonly instances: string };
  readonly #files: Files;

  /** @param place has the path of the directory of all instances, either of this hypervisor or of another */
  constructor(place: { readonly instances: string }, files: Files) {
    this.#place = place;
    this.#files = files;
  }

  get root(): string {
    return this.#place.instances;
  }

  folder(uuid: string): string {
    return join(this.root, uuid);
  }

  disk(uuid: string, name: string): string {
    return join(this.folder(uuid), name);
  }

  async exists(uuid: string): Promise<boolean> {
    return (await this.#files.stat(this.folder(uuid))) !== undefined;
  }

  async hasDisk(uuid: string): Promise<boolean> {
    return (await this.#files.stat(this.disk(uuid, "disk"))) !== undefined;
  }

  /**
   * Creates the disks that are absent or that a killed agent left unfinished, and keeps existing ones (shared storage).
   * Returns a function that removes exactly the created files.
   */
  async make(uuid: string, disks: readonly DiskSpec[]): Promise<() => Promise<void>> {
    const isNewFolder = !(await this.exists(uuid));
    const made: string[] = [];
    const undo = async () => {
      for (const path of isNewFolder ? [this.folder(uuid)] : made) {
        await this.#files.remove(path);
      }
    };
    try {
      await this.#files.makeFolder(this.folder(uuid));
      for (const { name, gib } of disks) {
        const path = this.disk(uuid, name);
        const found = await this.#files.stat(path);
        if (!found) {
          made.push(path);
        }
        if (!found || found.bytes < gib * GIB) {
          await this.#files.truncate(path, gib * GIB);
        }
      }
      return undo;
    } catch (error) {
      // The caller needs the first error, not that of the cleanup.
      await undo().catch(() => {});
      throw error;
    }
  }

  /**
   * Rewrites the instance's config drive as a folder with the content of a real one. An instance without a config drive
   * gets none.
   */
  async writeConfigDrive(instance: Instance): Promise<void> {
    if (!instance.configDrive) {
      return;
    }
    const drive = this.disk(instance.uuid, CONFIG_DRIVE);
    await this.#files.remove(drive);
    for (const { path, bytes } of configDriveFiles(instance)) {
      await this.#files.writeBytes(join(drive, path), all(bytes));
    }
  }

  /**
   * Renames the instance's folder, so that its disks are safe when another agent creates it again. Succeeds if this is
   * done already; the folder then belongs to another agent.
   */
  async setAside(uuid: string): Promise<void> {
    const aside = asideOf(this.root, uuid);
    if (!(await this.exists(uuid)) || (await this.#files.stat(aside))) {
      return;
    }
    await this.#files.rename(this.folder(uuid), aside);
  }

  /** Returns the disks that were set aside below `root`, which may belong to another host. */
  async disksAside(root: string, uuid: string): Promise<readonly DiskSpec[]> {
    const aside = asideOf(root, uuid);
    const disks: DiskSpec[] = [];
    for (const name of await this.#files.list(aside)) {
      const found = DISK.test(name) ? await this.#files.stat(join(aside, name)) : undefined;
      if (found) {
        disks.push({ name, gib: found.bytes / GIB });
      }
    }
    return disks;
  }

  /** Undoes {@link setAside}, and drops files created since. Succeeds if nothing was set aside. */
  async bringBack(uuid: string): Promise<void> {
    const aside = asideOf(this.root, uuid);
    if (!(await this.#files.stat(aside))) {
      return;
    }
    await this.#files.remove(this.folder(uuid));
    await this.#files.rename(aside, this.folder(uuid));
  }

  async removeAside(uuid: string): Promise<void> {
    await this.#files.remove(asideOf(this.root, uuid));
  }

  /** Removes the instance's folder and disks that were set aside. Returns true if nothing is left. */
  async remove(uuid: string): Promise<boolean> {
    await this.#files.remove(this.folder(uuid));
    await this.removeAside(uuid);
    return !(await this.exists(uuid));
  }

  /**
   * Creates a file that another host can see if it shares the storage. Returns null if there is no instance directory.
   */
  async makeToken(uuid: string, random: Random): Promise<string | null> {
    if (!(await this.exists(uuid))) {
      return null;
    }
    const name = `${TOKEN_PREFIX}${random.hex(8)}`;
    await this.#files.create(this.disk(uuid, name), "");
    return name;
  }

  /** Like {@link makeToken}, for instances that are not on this host yet. */
  async makeRootToken(random: Random): Promise<string> {
    const name = `${TOKEN_PREFIX}${random.hex(8)}`;
    await this.#files.create(join(this.root, name), "");
    return name;
  }

  async seesRootToken(name: unknown): Promise<boolean> {
    return isName(name) && (await this.#files.stat(join(this.root, name))) !== undefined;
  }

  async removeRootToken(name: unknown): Promise<void> {
    if (isName(name)) {
      await this.#files.remove(join(this.root, name));
    }
  }

  async seesToken(uuid: string, name: string): Promise<boolean> {
    return isToken(uuid, name) && (await this.#files.stat(this.disk(uuid, name))) !== undefined;
  }

  async removeToken(uuid: string, name: string): Promise<void> {
    if (isToken(uuid, name)) {
      await this.#files.remove(this.disk(uuid, name));
    }
  }
}

async function* all(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

const isName = (name: unknown): name is string => typeof name === "string" && TOKEN.test(name);

const isToken = (uuid: string, name: string): boolean => UUID.test(uuid) && isName(name);

/** Nova's name of the folder. */
const asideOf = (root: string, uuid: string): string => join(root, `${uuid}_resize`);

/**
 * Uploads one line that names the emulated disk, since there is no content. Without an Image service the image stays
 * empty, which no guest of this driver notices.
 */
export async function storeStandIn({ uuid }: Pick<Instance, "uuid">, upload: SnapshotOptions["upload"]): Promise<void> {
  try {
    await upload(bytesOf(`the disk of ${uuid}, which fake-libvirt emulates\n`));
  } catch (error) {
    if (!(error instanceof ImageServiceNotFound)) {
      throw error;
    }
  }
}
