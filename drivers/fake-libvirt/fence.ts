import { basename, dirname, join } from "node:path";
import { FileFailure, type Files, HostEpochOutdated, type Random, type WriteOptions } from "../../src/virt/index.js";
import type { HypervisorFolder } from "./hypervisor.js";

const EPOCH = /^\d+$/;

/**
 * Prevents late changes to the hypervisor by an agent whose host another agent has taken over. Each agent of a host has
 * its own folder, named by the epoch of its lease, and the next agent removes it. Every creation, change or removal of
 * a guest is a rename from or to that folder. Hence an agent that was suspended anywhere cannot act on an outdated
 * check. Without an epoch there is no fence.
 */
export class Fence {
  /** Writes and removes guests. A file appears or vanishes only if the epoch is still current at that moment. */
  readonly guests: Files;
  /**
   * Changes disks and other hypervisors, which may be on another file system. Checks the epoch right before each
   * change.
   */
  readonly disks: Files;
  readonly #folder: string;
  readonly #host: string;
  readonly #files: Files;
  readonly #random: Random;
  #epoch: number | undefined;

  constructor(folder: HypervisorFolder, { host, files, random }: { host: string; files: Files; random: Random }) {
    this.#folder = join(folder.fences, encodeURIComponent(host).replace(/^\./, "%2E"));
    this.#host = host;
    this.#files = files;
    this.#random = random;
    this.disks = fencedFiles(files, this);
    this.guests = {
      ...this.disks,
      write: (path, text, options) => this.put(path, text, options),
      remove: (path) => this.take(path),
    };
  }

  /** Stops all agents with a smaller epoch. @throws {HostEpochOutdated} a greater epoch exists. */
  async raise(epoch: number): Promise<void> {
    this.#epoch = epoch;
    await this.#takeOver(epoch);
    // Listed after the own folder was made: of two agents that raise the fence at once, at least one sees the other.
    const names = await this.#listIfCurrentEpoch().catch(async (error: unknown) => {
      await this.#files.remove(this.#own);
      throw error;
    });
    for (const name of names) {
      if (name === String(epoch)) {
        continue;
      }
      // An agent may write to a folder while it is being removed, but cannot find it once it is renamed.
      const gone = EPOCH.test(name) ? `passed-${name}-${this.#random.hex(4)}` : name;
      if (gone !== name) {
        await this.#moved(join(this.#folder, name), join(this.#folder, gone));
      }
      await this.#files.remove(join(this.#folder, gone));
    }
  }

  /**
   * Renames the previous agent's folder to the own one, so that the previous agent no longer finds it. Creates the own
   * folder if there is none, or if another agent renamed it first.
   */
  async #takeOver(epoch: number): Promise<void> {
    const before = highestOf(await this.#files.list(this.#folder));
    const isPassed = before >= 0 && before < epoch;
    if (!isPassed || !(await this.#moved(join(this.#folder, String(before)), this.#own))) {
      await this.#files.makeFolder(this.#own);
      return;
    }
    // Files that the previous agent had not moved to their paths yet, or had begun to remove.
    for (const name of await this.#files.list(this.#own)) {
      await this.#files.remove(join(this.#own, name));
    }
  }

  get #own(): string {
    return join(this.#folder, String(this.#epoch));
  }

  /** Returns if no other agent has taken over the host. @throws {HostEpochOutdated} */
  async look(): Promise<void> {
    if (this.#epoch !== undefined && !(await this.#files.stat(this.#own))) {
      await this.#listIfCurrentEpoch();
    }
  }

  /** Returns the names of all agents' folders of this host. @throws {HostEpochOutdated} */
  async #listIfCurrentEpoch(): Promise<readonly string[]> {
    const epoch = this.#epoch;
    if (epoch === undefined) {
      return [];
    }
    const names = await this.#files.list(this.#folder);
    const highest = highestOf(names);
    if (highest === epoch) {
      return names;
    }
    throw new HostEpochOutdated(
      `the hypervisor rejects the agent of host ${this.#host} with epoch ${epoch}: its newest epoch is ` +
        `${Number.isFinite(highest) ? highest : "none"} (${this.#folder}), so another agent owns the host now; ` +
        "stop this one",
    );
  }

  /** Writes a file that appears only if the epoch is current at that moment. @throws {HostEpochOutdated} */
  async put(path: string, text: string, options?: WriteOptions): Promise<void> {
    if (this.#epoch === undefined) {
      return this.#files.write(path, text, options);
    }
    const waiting = join(this.#own, `${basename(path)}-${this.#random.hex(4)}`);
    try {
      await this.#files.write(waiting, text, { ...options, unseen: true });
      await this.#appear(waiting, path);
    } catch (error) {
      await this.#files.remove(waiting);
      if (isAbsent(error)) {
        await this.#listIfCurrentEpoch();
      }
      throw error;
    }
  }

  /** Renames a file from the own folder to its path. */
  async #appear(waiting: string, path: string): Promise<void> {
    if (await this.#moved(waiting, path)) {
      return;
    }
    // The first file of its kind, whose folder does not exist yet.
    await this.look();
    await this.#files.makeFolder(dirname(path));
    await this.#files.rename(waiting, path);
  }

  /** Removes a file, which vanishes only if the epoch is current at that moment. @throws {HostEpochOutdated} */
  async take(path: string): Promise<void> {
    if (this.#epoch === undefined) {
      return this.#files.remove(path);
    }
    const taken = join(this.#own, `${basename(path)}-${this.#random.hex(4)}`);
    if (await this.#moved(path, taken)) {
      return this.#files.remove(taken);
    }
    // Otherwise there is nothing to remove.
    await this.look();
  }

  /** Returns false if either folder or the file is absent. */
  async #moved(from: string, to: string): Promise<boolean> {
    try {
      await this.#files.rename(from, to);
      return true;
    } catch (error) {
      if (isAbsent(error)) {
        return false;
      }
      throw error;
    }
  }
}

/** Checks the fence before every change to files. */
function fencedFiles(files: Files, fence: Pick<Fence, "look">): Files {
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    await fence.look();
    return work();
  };
  return {
    read: (path) => files.read(path),
    readIfPresent: (path) => files.readIfPresent(path),
    readBytes: (path) => files.readBytes(path),
    list: (path) => files.list(path),
    stat: (path) => files.stat(path),
    watch: (folder, listener) => files.watch(folder, listener),
    write: (path, text, options) => change(() => files.write(path, text, options)),
    writeBytes: (path, bytes, options) => change(() => files.writeBytes(path, bytes, options)),
    remove: (path) => change(() => files.remove(path)),
    create: (path, text, options) => change(() => files.create(path, text, options)),
    append: (path, text) => change(() => files.append(path, text)),
    truncate: (path, bytes) => change(() => files.truncate(path, bytes)),
    rename: (from, to) => change(() => files.rename(from, to)),
    makeFolder: (path, options) => change(() => files.makeFolder(path, options)),
  };
}

/** Returns the greatest epoch among the folder names, or -Infinity if there is none. */
function highestOf(names: readonly string[]): number {
  return Math.max(...names.filter((name) => EPOCH.test(name)).map(Number));
}

function isAbsent(error: unknown): boolean {
  return error instanceof FileFailure && error.code === "ENOENT";
}
