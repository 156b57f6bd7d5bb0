import { join } from "node:path";
import type { QemuConfig } from "./config.js";

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Where what is kept of a hypervisor lies. */
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
  /** One folder a guest that runs: the current folder of its QEMU. */
  get runs(): string {
    return join(this.root, "run");
  }
  run(uuid: string): string {
    return join(this.runs, uuid);
  }
  /** The record of a live migration under way. */
  migration(uuid: string): string {
    return join(this.root, "migrations", `${uuid}.json`);
  }
  instance(uuid: string): string {
    return join(this.instances, uuid);
  }
  disk(uuid: string, name: string): string {
    return join(this.instance(uuid), name);
  }
  /** The guest's memory, while it is suspended. */
  memory(uuid: string): string {
    return join(this.instance(uuid), "memory");
  }
  console(uuid: string): string {
    return join(this.instance(uuid), "console.log");
  }
  /** Where the disks of a guest lie that moves cold, as Nova names it. */
  aside(uuid: string): string {
    return asideIn(this.instances, uuid);
  }
}

export const asideIn = (instances: string, uuid: string): string => join(instances, `${uuid}_resize`);
