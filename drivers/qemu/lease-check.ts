import { join } from "node:path";
import { type Files, HostEpochOutdated } from "../../src/virt/index.js";

const EPOCH = /^\d+$/;

/**
 * Refuses to change guests for an agent that has lost its host: looks for a greater epoch right before each change. An
 * agent that is suspended between look and change still makes that one change, so that the driver does not say
 * `supportsFencing`; QEMU's locks on disks then keep a guest from running twice. Without an epoch nothing is refused.
 */
export class LeaseCheck {
  readonly #folder: string;
  readonly #host: string;
  readonly #files: Files;
  #epoch: number | undefined;

  constructor(folder: string, { host, files }: { readonly host: string; readonly files: Files }) {
    this.#folder = join(folder, encodeURIComponent(host).replace(/^\./, "%2E"));
    this.#host = host;
    this.#files = files;
  }

  /** @throws {HostEpochOutdated} there is an agent with a greater one. */
  async raise(epoch: number): Promise<void> {
    this.#epoch = epoch;
    await this.#files.write(join(this.#folder, String(epoch)), "");
    await this.assertCurrentEpoch();
    for (const name of await this.#files.list(this.#folder)) {
      if (EPOCH.test(name) && Number(name) < epoch) {
        await this.#files.remove(join(this.#folder, name));
      }
    }
  }

  /** @throws {HostEpochOutdated} */
  async assertCurrentEpoch(): Promise<void> {
    if (this.#epoch === undefined) {
      return;
    }
    const epochs = (await this.#files.list(this.#folder)).filter((name) => EPOCH.test(name)).map(Number);
    const highest = Math.max(...epochs);
    if (highest > this.#epoch) {
      throw new HostEpochOutdated(
        `an agent of host ${this.#host} has asked in epoch ${this.#epoch}, but ${this.#folder} has heard of epoch ${highest}: ` +
          "another agent has the host now; stop this one",
      );
    }
  }
}
