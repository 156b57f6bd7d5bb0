import { join } from "node:path";
import { errorMessage } from "../../runtime/error-messages.js";
import type { Files } from "../../runtime/files.js";
import { sizeOf } from "../../runtime/node/file-tree.js";
import { isClusterName } from "../local/known-clusters.js";
import type { StateDir } from "../local/state-dir.js";
import { type SavedHosts, SNAPSHOTS, snapshotRejected } from "./saved-state.js";
import {
  copySnapshot,
  readSnapshot,
  type SaveOptions,
  type Snapshot,
  type SnapshotMetadata,
  saveSnapshot,
} from "./snapshot-file.js";

const ENDING = ".snapshot";

/** The snapshot of the state after a start, for `reset`. It is not a valid name for users. */
const START = ".start";

export interface ListedSnapshot {
  readonly name: string;
  readonly savedAt: number;
  readonly bytes: number;
  readonly hosts: number;
  /** The hosts' states; undefined if they were not recorded. */
  readonly states: SavedHosts | undefined;
}

/** The snapshots of a cluster, in its state directory. */
export class Snapshots {
  readonly #root: string;
  readonly #files: Files;

  constructor({ root }: Pick<StateDir, "root">, files: Files) {
    this.#root = root;
    this.#files = files;
  }

  /**
   * Saves a snapshot. The state directory must not change meanwhile.
   * @param name null: the state after a start, for `reset`
   * @throws {ClusterError} `SnapshotRefused` and the exceptions of `options.check`; the former snapshot remains
   */
  save(name: string | null, metadata: SnapshotMetadata, options: SaveOptions = {}): void {
    saveSnapshot(this.#root, this.#pathOf(name), metadata, options);
  }

  /**
   * @param name null: the state after a start
   * @throws {ClusterError} `SnapshotRefused` if it does not exist or cannot be used
   */
  read(name: string | null): Snapshot {
    const path = this.#pathOf(name);
    if (name === null && sizeOf(path) === undefined) {
      throw snapshotRejected(
        "the state after the start was not saved, because a host's driver stores guests outside the state directory, or the state was too large; " +
          "save a named one with compute-agent snapshot save",
      );
    }
    return readSnapshot(path);
  }

  /** Deletes the snapshot for `reset`. */
  async forgetStart(): Promise<void> {
    await this.#files.remove(this.#file(START));
  }

  /** Lists all snapshots, the newest last. Those that cannot be read are passed to `unreadable`. */
  async list(unreadable: (name: string, reason: string) => void = () => undefined): Promise<readonly ListedSnapshot[]> {
    const names = (await this.#files.list(join(this.#root, SNAPSHOTS)))
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .filter(isClusterName);
    return names
      .flatMap((name) => {
        try {
          const { metadata, bytes } = readSnapshot(this.#file(name));
          const hosts = Object.keys(metadata.drivers).length;
          return [{ name, savedAt: metadata.savedAt, bytes, hosts, states: metadata.hosts }];
        } catch (error) {
          unreadable(name, errorMessage(error));
          return [];
        }
      })
      .toSorted((one, other) => one.savedAt - other.savedAt);
  }

  /**
   * Returns the time when a snapshot was written, in ms; undefined if it does not exist.
   * @throws {ClusterError} `SnapshotRefused` if the name is invalid
   */
  async savedAt(name: string): Promise<number | undefined> {
    return (await this.#files.stat(this.#pathOf(name)))?.modified;
  }

  /** @throws {ClusterError} `SnapshotRefused` if it does not exist */
  async delete(name: string): Promise<void> {
    const path = this.#pathOf(name);
    if ((await this.#files.stat(path)) === undefined) {
      throw snapshotRejected(`snapshot ${name} does not exist; list all with compute-agent snapshot list`);
    }
    await this.#files.remove(path);
  }

  /**
   * Exports a snapshot to a file, for another cluster.
   * @param file absolute path
   * @throws {ClusterError} `SnapshotRefused`
   */
  export(name: string, file: string): void {
    copySnapshot(this.#pathOf(name), file, (metadata) => metadata);
  }

  /**
   * Imports a snapshot of another cluster from a file.
   * @param file absolute path
   * @throws {ClusterError} `SnapshotRefused`
   */
  import(file: string, name: string): void {
    copySnapshot(file, this.#pathOf(name), (metadata) => ({ ...metadata, isImported: true }));
  }

  #pathOf(name: string | null): string {
    if (name === null) {
      return this.#file(START);
    }
    if (!isClusterName(name)) {
      throw snapshotRejected(
        `invalid name of a snapshot: ${JSON.stringify(name)}; expected a letter or digit, followed by at most 62 letters, digits or . _ -`,
      );
    }
    return this.#file(name);
  }

  #file(name: string): string {
    return join(this.#root, SNAPSHOTS, `${name}${ENDING}`);
  }
}

/**
 * Checks that no host would change its driver: hosts retain their drivers and guests.
 * @param drivers the drivers of the current hosts
 * @throws {ClusterError} `SnapshotRefused` if the snapshot has a host with another driver
 */
export function assertSameDrivers({ metadata }: Snapshot, drivers: SnapshotMetadata["drivers"]): void {
  const other = Object.entries(metadata.drivers).filter(
    ([host, driver]) => Object.hasOwn(drivers, host) && drivers[host] !== driver,
  );
  if (other.length > 0) {
    const examples = other
      .slice(0, MAX_EXAMPLES)
      .map(([host, driver]) => `${host} has ${drivers[host]}, but ${driver} in the snapshot`);
    throw snapshotRejected(
      `the snapshot is of a cluster with other drivers: ${examples.join("; ")}; restore it into a cluster without these hosts`,
    );
  }
}

/** The max number of hosts in a message. */
const MAX_EXAMPLES = 3;

/** Drivers whose complete state is in the state directory, in files that no other process has open. */
const SUPPORTED_DRIVERS = new Set(["fake-libvirt", "ironic"]);

/** @throws {ClusterError} `SnapshotRefused` if a host's driver has state that a snapshot does not include */
export function assertSupportedDrivers(drivers: SnapshotMetadata["drivers"]): void {
  const [host, driver] = Object.entries(drivers).find(([, name]) => !SUPPORTED_DRIVERS.has(name)) ?? [];
  if (host !== undefined) {
    throw snapshotRejected(
      `host ${host} has driver ${driver}, whose guests a snapshot does not include; expected ${[...SUPPORTED_DRIVERS].join(" or ")}`,
    );
  }
}
