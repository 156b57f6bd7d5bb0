import { join } from "node:path";
import type { ProcessIdentity } from "../../src/virt/index.js";
import { blockNode, nodeOf } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { parsed } from "./hypervisor-folder.js";
import { type DiskJob, jobsReach, migrationStatus } from "./jobs.js";
import type { Execute, GuestProcess } from "./monitor.js";

const mirrorOf = (index: number): string => `mirror${index}`;

/**
 * Mirrors the disks of a running guest into files of the destination until the guest stops here. The destination's QEMU
 * has the files open in the meantime. It reads and writes nothing before the guest's memory has arrived.
 */
class DiskMirror {
  readonly #qemu: GuestProcess;
  readonly #paths: readonly string[];
  readonly #parts: HypervisorParts;

  /** @param paths the destination's, in the order of the guest's disks. */
  constructor(qemu: GuestProcess, paths: readonly string[], parts: HypervisorParts) {
    this.#qemu = qemu;
    this.#paths = paths;
    this.#parts = parts;
  }

  /** Resolves when all disks are in sync. @throws whatever `look` throws. */
  async begin(signal: AbortSignal | undefined, look: (jobs: readonly DiskJob[]) => void): Promise<void> {
    await this.#use(async (execute) => {
      for (const [index, path] of this.#paths.entries()) {
        await execute("blockdev-add", blockNode(mirrorOf(index), path));
        await execute("blockdev-mirror", {
          "job-id": mirrorOf(index),
          device: nodeOf(index),
          target: mirrorOf(index),
          sync: "full",
          "auto-dismiss": false,
        });
      }
    }, signal);
    await jobsReach("ready", this.#ids, this.#qemu, this.#parts, signal, look);
  }

  /** Writes the remainder and closes the files. The guest is stopped. */
  async finish(signal: AbortSignal | undefined): Promise<void> {
    await this.#use(async (execute) => {
      for (const device of this.#ids) {
        await execute("block-job-cancel", { device });
      }
    }, signal);
    await jobsReach("concluded", this.#ids, this.#qemu, this.#parts, signal);
    await this.#use(async (execute) => {
      for (const name of this.#ids) {
        await execute("job-dismiss", { id: name });
        await execute("blockdev-del", { "node-name": name });
      }
    }, signal);
  }

  /** Cancels the mirroring, including that of a killed agent. Succeeds if there is none. */
  async giveUp(): Promise<void> {
    for (const id of this.#ids) {
      await this.#use(async (execute) => {
        await execute("block-job-cancel", { device: id, force: true }).catch(() => {});
      });
      await jobsReach("concluded", [id], this.#qemu, this.#parts, undefined).catch(() => {});
      await this.#use(async (execute) => {
        await execute("job-dismiss", { id }).catch(() => {});
        await execute("blockdev-del", { "node-name": id }).catch(() => {});
      });
    }
  }

  get #ids(): readonly string[] {
    return this.#paths.map((_, index) => mirrorOf(index));
  }

  #use(work: (execute: Execute) => Promise<void>, signal?: AbortSignal): Promise<void> {
    return this.#parts.monitors.use(this.#qemu, work, signal);
  }
}

/** Name of the socket at which a QEMU waits for a guest's memory, in its current folder. */
export const INCOMING = "incoming";

/** The target of a guest's migration. */
export interface Destination {
  /** The QEMU that waits for the guest. */
  readonly qemu: ProcessIdentity;
  /** The folders of the hypervisor and of its instances. */
  readonly folder: string;
  readonly instances: string;
}

/** The stored record of a live migration in progress, from which the next agent can undo it if this one is killed. */
export interface StoredMigration {
  readonly destination: Destination;
  /** Names of the copied disks; empty if the storage is shared. */
  readonly disks: readonly string[];
  /** Whether the guest was running when the migration began. */
  readonly running: boolean;
}

const BUSY: ReadonlySet<string> = new Set([
  "setup",
  "active",
  "device",
  "pre-switchover",
  "cancelling",
  "wait-unplug",
  "postcopy-active",
]);

/** Milliseconds between two polls of a migration that ends. */
const LOOK = 20;

/** Milliseconds for QEMU to cancel. After that the receiving QEMU is killed, since a broken stream ends the wait. */
const CANCEL = 30_000;

/**
 * The migration of one guest from this hypervisor to another by QEMU. It can be undone until everything has arrived.
 */
export class Handover {
  readonly uuid: string;
  readonly mirror: DiskMirror;
  readonly qemu: GuestProcess;
  readonly stored: StoredMigration;
  readonly #parts: HypervisorParts;

  constructor(qemu: GuestProcess, stored: StoredMigration, parts: HypervisorParts) {
    this.uuid = qemu.uuid;
    this.qemu = qemu;
    this.stored = stored;
    this.#parts = parts;
    const folder = join(stored.destination.instances, qemu.uuid);
    this.mirror = new DiskMirror(
      qemu,
      stored.disks.map((name) => join(folder, name)),
      parts,
    );
  }

  /** Stores the record of the migration before anything is moved. */
  async remember(): Promise<void> {
    const { context, layout } = this.#parts;
    await context.files.write(layout.migration(this.uuid), `${JSON.stringify(this.stored, null, 2)}\n`);
  }

  /** Returns the handover that a killed agent was performing, or undefined if there is none or its guest has ended. */
  static async leftOver(uuid: string, parts: HypervisorParts): Promise<Handover | undefined> {
    const text = await parts.context.files.readIfPresent(parts.layout.migration(uuid));
    const stored = text === undefined ? undefined : storedMigration(text);
    const qemu = await parts.runs.find(uuid);
    return stored && qemu ? new Handover(qemu, stored, parts) : undefined;
  }

  async send(signal: AbortSignal | undefined): Promise<void> {
    const { monitors } = this.#parts;
    const capabilities = ["pause-before-switchover", "return-path"].map((capability) => ({ capability, state: true }));
    const uri = `unix:/proc/${this.stored.destination.qemu.pid}/cwd/${INCOMING}`;
    await monitors.use(
      this.qemu,
      async (execute) => {
        await execute("migrate-set-capabilities", { capabilities });
        await execute("migrate", { uri });
      },
      signal,
    );
  }

  /** Resumes the guest here as before. Returns false if the guest has already arrived and stays at the destination. */
  async takeBack(guests: Guests): Promise<boolean> {
    const { runs, context } = this.#parts;
    const { timers, clock } = context;
    await guests.use(this.qemu, (execute) => execute("migrate_cancel"));
    const deadline = clock.monotonic() + CANCEL;
    for (;;) {
      const { status, hasLeft } = await migrationStatus(this.qemu, this.#parts);
      if (hasLeft) {
        return false;
      }
      if (!BUSY.has(status)) {
        break;
      }
      // A cancelled migration cannot complete any more, so nothing at the destination is the guest.
      if (status === "cancelling" && clock.monotonic() > deadline) {
        await runs.kill(this.stored.destination.qemu);
      }
      await timers.sleep(LOOK);
    }
    await this.mirror.giveUp();
    if (this.stored.running) {
      await guests.use(this.qemu, (execute) => execute("cont"));
    }
    await this.forget();
    return true;
  }

  /**
   * Removes the destination's part of a failed migration, for cases in which the destination's agent gets no request.
   */
  async removeThere(): Promise<void> {
    const { runs, context } = this.#parts;
    const { files } = context;
    const { qemu, folder, instances } = this.stored.destination;
    await runs.kill(qemu);
    await files.remove(join(folder, "guests", `${this.uuid}.json`));
    if (this.stored.disks.length > 0 && instances !== this.#parts.layout.instances) {
      await files.remove(join(instances, this.uuid));
    }
  }

  async forget(): Promise<void> {
    await this.#parts.context.files.remove(this.#parts.layout.migration(this.uuid));
  }
}

/** Returns undefined if the value is not a destination. */
export function destinationIn(value: unknown): Destination | undefined {
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const { qemu, folder, instances } = value as Record<string, unknown>;
  if (typeof qemu !== "object" || qemu === null || !("pid" in qemu) || !("started" in qemu)) {
    return undefined;
  }
  const { pid, started } = qemu;
  return typeof pid === "number" &&
    typeof started === "string" &&
    typeof folder === "string" &&
    typeof instances === "string"
    ? { qemu: { pid, started }, folder, instances }
    : undefined;
}

function storedMigration(text: string): StoredMigration | undefined {
  const value = parsed(text);
  if (typeof value !== "object" || value === null) {
    return undefined;
  }
  const { destination, disks, running } = value as Record<string, unknown>;
  const found = destinationIn(destination);
  return found &&
    Array.isArray(disks) &&
    disks.every((name) => typeof name === "string") &&
    typeof running === "boolean"
    ? { destination: found, disks, running }
    : undefined;
}
