import { join } from "node:path";
import type { Files } from "../../runtime/files.js";
import { sizeOf } from "../../runtime/node/file-tree.js";
import { isClusterName } from "../local/known-clusters.js";
import type { StateDir } from "../local/state-dir.js";
import { SNAPSHOTS } from "./saved-files.js";
import type { SavedHosts } from "./saved-hosts.js";
import { SnapshotRefused } from "./snapshot-error.js";
import {
  copySnapshot,
  readSnapshot,
  type SaveOptions,
  type Snapshot,
  type SnapshotFacts,
  saveSnapshot,
} from "./snapshot-file.js";

const ENDING = ".snapshot";

/** The state after a start, to which `reset` goes back. Nobody can name it. */
const START = ".start";

/** A snapshot, for a list of them. */
export interface ListedSnapshot {
  readonly name: string;
  readonly savedAt: number;
  readonly bytes: number;
  readonly hosts: number;
  /** Undefined: it does not say. */
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
   * Nobody may change the state directory meanwhile.
   * @param name null: the state after a start, to which `reset` goes back
   * @throws {SnapshotRefused}, and what the options throw: what was there stays
   */
  save(name: string | null, facts: SnapshotFacts, options: SaveOptions = {}): void {
    saveSnapshot(this.#root, this.#pathOf(name), facts, options);
  }

  /** @param name null: the state after a start @throws {SnapshotRefused} there is none, or none that can be used */
  read(name: string | null): Snapshot {
    const path = this.#pathOf(name);
    if (name === null && sizeOf(path) === undefined) {
      throw new SnapshotRefused(
        "the state after the start was not saved: a host has a driver that keeps its guests elsewhere, or the state was too large; " +
          "compute-cluster snapshot save saves one by name",
      );
    }
    return readSnapshot(path);
  }

  /** From now on there is nothing to which `reset` could go back. */
  async forgetStart(): Promise<void> {
    await this.#files.remove(this.#file(START));
  }

  /** The newest last. One that cannot be read is left out: its name is told to `unreadable`. */
  async list(unreadable: (name: string, reason: string) => void = () => undefined): Promise<readonly ListedSnapshot[]> {
    const names = (await this.#files.list(join(this.#root, SNAPSHOTS)))
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .filter(isClusterName);
    return names
      .flatMap((name) => {
        try {
          const { facts, bytes } = readSnapshot(this.#file(name));
          const hosts = Object.keys(facts.drivers).length;
          return [{ name, savedAt: facts.savedAt, bytes, hosts, states: facts.hosts }];
        } catch (error) {
          unreadable(name, error instanceof Error ? error.message : String(error));
          return [];
        }
      })
      .toSorted((one, other) => one.savedAt - other.savedAt);
  }

  /** The time when a snapshot was written, in ms; undefined: there is none of this name. @throws {SnapshotRefused} the name is none */
  async savedAt(name: string): Promise<number | undefined> {
    return (await this.#files.stat(this.#pathOf(name)))?.modified;
  }

  /** @throws {SnapshotRefused} there is none */
  async delete(name: string): Promise<void> {
    const path = this.#pathOf(name);
    if ((await this.#files.stat(path)) === undefined) {
      throw new SnapshotRefused(
        `there is no snapshot ${name}; compute-cluster snapshot list shows those that there are`,
      );
    }
    await this.#files.remove(path);
  }

  /** Writes a snapshot to a file, for another cluster. @param file absolute @throws {SnapshotRefused} */
  export(name: string, file: string): void {
    copySnapshot(this.#pathOf(name), file, (facts) => facts);
  }

  /** Takes a snapshot of another cluster from a file. @param file absolute @throws {SnapshotRefused} */
  import(file: string, name: string): void {
    copySnapshot(file, this.#pathOf(name), (facts) => ({ ...facts, isImported: true }));
  }

  #pathOf(name: string | null): string {
    if (name === null) {
      return this.#file(START);
    }
    if (!isClusterName(name)) {
      throw new SnapshotRefused(
        `found ${JSON.stringify(name)} as the name of a snapshot, expected a letter or digit, and letters, digits and . _ - after it, at most 63`,
      );
    }
    return this.#file(name);
  }

  #file(name: string): string {
    return join(this.#root, SNAPSHOTS, `${name}${ENDING}`);
  }
}

/**
 * Hosts keep the driver that they have, with their guests.
 * @param drivers of the hosts that there are now @throws {SnapshotRefused} the snapshot has one with another driver
 */
export function refuseOtherDrivers({ facts }: Snapshot, drivers: SnapshotFacts["drivers"]): void {
  const other = Object.entries(facts.drivers).filter(
    ([host, driver]) => Object.hasOwn(drivers, host) && drivers[host] !== driver,
  );
  if (other.length > 0) {
    const shown = other
      .slice(0, SHOWN)
      .map(([host, driver]) => `${host} has ${drivers[host]}, in the snapshot ${driver}`);
    throw new SnapshotRefused(
      `the snapshot is of a cluster with other drivers: ${shown.join("; ")}; restore it into a cluster without these hosts`,
    );
  }
}

/** Hosts that are named. */
const SHOWN = 3;

/** Drivers all of whose state is in the state directory, as files that nothing else has open. */
const KEPT_DRIVERS = new Set(["fake-libvirt", "ironic"]);

/** @throws {SnapshotRefused} a host's driver keeps state where no snapshot finds it */
export function refuseForeignDrivers(drivers: SnapshotFacts["drivers"]): void {
  const [host, driver] = Object.entries(drivers).find(([, name]) => !KEPT_DRIVERS.has(name)) ?? [];
  if (host !== undefined) {
    throw new SnapshotRefused(
      `host ${host} has driver ${driver}, which keeps its guests where a snapshot does not look; expected ${[...KEPT_DRIVERS].join(" or ")}`,
    );
  }
}
