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

/** Tokens come from other hosts: nothing else of them may become part of a path. */
const TOKEN = new RegExp(`^${TOKEN_PREFIX.replace(".", "\\.")}[0-9a-f]{16}$`);

const DISK = /^disk(\.(eph\d+|swap))?$/;

/** Beside the disks, gone with them. */
const CONFIG_DRIVE = "disk.config";

/** A disk that a guest is to have. */
export interface DiskSpec {
  /** `disk`, `disk.eph0`, `disk.swap` */
  readonly name: string;
  readonly gib: number;
}

/** Instance directories: `<instances_path>/<uuid>/disk`. May be shared with other hosts. */
export class InstanceFiles {
  readonly #place: { readonly instances: string };
  readonly #files: Files;

  /** @param place names the folder of all of them: a hypervisor's own, or another */
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
   * Makes the disks that are not there, or that a killed agent left unfinished; keeps those that are there (shared
   * storage). Returns a function that removes exactly what was made.
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
      // What went wrong first is what the caller must hear of.
      await undo().catch(() => {});
      throw error;
    }
  }

  /** Makes the instance's config drive anew, a folder with what a real one has; an instance without one gets none. */
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
   * Renames the instance's folder, so that its disks are safe when another agent makes it anew. Done already is
   * success: what lies beside is not this agent's.
   */
  async setAside(uuid: string): Promise<void> {
    const aside = asideOf(this.root, uuid);
    if (!(await this.exists(uuid)) || (await this.#files.stat(aside))) {
      return;
    }
    await this.#files.rename(this.folder(uuid), aside);
  }

  /** Disks that were set aside below `root`, which may be another host's. */
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

  /** Undoes {@link setAside}, dropping what was made since; nothing set aside is success. */
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

  /** What was set aside too. True: nothing is left. */
  async remove(uuid: string): Promise<boolean> {
    await this.#files.remove(this.folder(uuid));
    await this.removeAside(uuid);
    return !(await this.exists(uuid));
  }

  /** A file that another host sees if it has the same storage. Null: there is no instance directory here. */
  async makeToken(uuid: string, random: Random): Promise<string | null> {
    if (!(await this.exists(uuid))) {
      return null;
    }
    const name = `${TOKEN_PREFIX}${random.hex(8)}`;
    await this.#files.create(this.disk(uuid, name), "");
    return name;
  }

  /** Like {@link makeToken}, for instances that are not here yet. */
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

/** As Nova names it. */
const asideOf = (root: string, uuid: string): string => join(root, `${uuid}_resize`);

/**
 * Stores a line that says whose disk the image stands for: there is nothing on it. Where there is no Image service the
 * image stays without bytes, which no guest of this driver misses.
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
