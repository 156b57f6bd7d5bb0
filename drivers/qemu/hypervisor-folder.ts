import { join } from "node:path";
import { FileFailure, type Files, HostEpochOutdated, InvalidConfiguration } from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The paths in a hypervisor's folder. */
export class Layout {
  readonly root: string;
  readonly instances: string;
  readonly images: string;

  constructor({ folder, instancesPath, imagesPath }: Pick<QemuConfig, "folder" | "instancesPath" | "imagesPath">) {
    this.root = folder;
    this.instances = instancesPath ?? join(folder, "instances");
    this.images = imagesPath ?? join(folder, "images");
  }

  get identity(): string {
    return join(this.root, "hypervisor.json");
  }
  get epochs(): string {
    return join(this.root, "epochs");
  }
  get guests(): string {
    return join(this.root, "guests");
  }
  guest(uuid: string): string {
    return join(this.guests, `${uuid}.json`);
  }
  /** Contains one folder per running guest: the current folder of its QEMU. */
  get runs(): string {
    return join(this.root, "run");
  }
  run(uuid: string): string {
    return join(this.runs, uuid);
  }
  /** The record of a live migration in progress. */
  migration(uuid: string): string {
    return join(this.root, "migrations", `${uuid}.json`);
  }
  instance(uuid: string): string {
    return join(this.instances, uuid);
  }
  disk(uuid: string, name: string): string {
    return join(this.instance(uuid), name);
  }
  /** File of the guest's memory while it is suspended. */
  memory(uuid: string): string {
    return join(this.instance(uuid), "memory");
  }
  console(uuid: string): string {
    return join(this.instance(uuid), "console.log");
  }
  /** Folder of the disks during a cold migration, with Nova's name. */
  aside(uuid: string): string {
    return asideIn(this.instances, uuid);
  }
}

export const asideIn = (instances: string, uuid: string): string => join(instances, `${uuid}_resize`);

/**
 * Returns the hostname that all agents of this folder report: that of the first agent's host. @throws
 * {InvalidConfiguration}
 */
export async function nameOfHypervisor(path: string, host: string, files: Files): Promise<string> {
  try {
    await files.create(path, `${JSON.stringify({ hostname: host }, null, 2)}\n`);
    return host;
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw error;
    }
  }
  const text = await files.read(path);
  const found = parsed(text);
  if (typeof found === "object" && found !== null && "hostname" in found && typeof found.hostname === "string") {
    return found.hostname;
  }
  throw new InvalidConfiguration(
    `${path}: expected JSON with the hostname of the hypervisor, found ${text.slice(0, 60)}; fix it, or remove the file so ` +
      "that the hypervisor gets a new name",
  );
}

/** Returns undefined if the text is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const EPOCH = /^\d+$/;

/**
 * Rejects changes to guests by an agent that has lost its host: checks for a greater epoch right before each change. An
 * agent that is suspended between check and change still makes that one change, so the driver does not declare
 * `supportsFencing`. QEMU's locks on disks then prevent a guest from running twice. Without an epoch nothing is
 * rejected.
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

  /** @throws {HostEpochOutdated} an agent has a greater epoch. */
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
        `the agent of host ${this.#host} has epoch ${this.#epoch}, but ${this.#folder} contains epoch ${highest}: ` +
          "another agent owns the host now; stop this one",
      );
    }
  }
}
