import { blockNode, nodeOf } from "./command-line.js";
import type { HypervisorParts } from "./guests.js";
import { type DiskJob, jobsReach } from "./jobs.js";
import type { Execute, GuestProcess } from "./monitor.js";

const mirrorOf = (index: number): string => `mirror${index}`;

/**
 * The disks of a running guest, copied into files of the destination and kept equal until the guest stops here. The
 * destination's QEMU has the files open meanwhile, and reads and writes nothing before the guest's memory has arrived.
 */
export class DiskMirror {
  readonly #qemu: GuestProcess;
  readonly #paths: readonly string[];
  readonly #parts: HypervisorParts;

  /** @param paths the destination's, in the order of the guest's disks. */
  constructor(qemu: GuestProcess, paths: readonly string[], parts: HypervisorParts) {
    this.#qemu = qemu;
    this.#paths = paths;
    this.#parts = parts;
  }

  /** Resolves when all disks are equal. @throws what `look` throws. */
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

  /** The guest is stopped: what is left is written, and the files are closed. */
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

  /** Ends what goes on, also what a killed agent began; nothing is success. */
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
