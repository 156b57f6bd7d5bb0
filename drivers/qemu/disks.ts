import { join } from "node:path";
import {
  BuildAbortException,
  type DriverContext,
  type Image,
  type ImageData,
  ImageNotFound,
  ImageServiceNotFound,
  ImageUnacceptable,
  type Random,
} from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";
import type { DiskSpec } from "./definition.js";
import { asideIn, type Layout, type LeaseCheck, parsed, UUID } from "./hypervisor-folder.js";
import { QemuError } from "./qemu-error.js";

/** A file from which a disk is created. */
interface DiskSource {
  readonly path: string;
  readonly format: string;
}

interface ImageFilesParts {
  readonly context: Pick<DriverContext, "files" | "logger">;
  readonly layout: Layout;
  /** Returns qemu-img's information on a file of this format. */
  readonly describe: (source: DiskSource) => Promise<Readonly<Record<string, unknown>>>;
}

/** Provides the content of images: from the Image service, or else from a folder on this machine. */
class ImageFiles {
  readonly #parts: ImageFilesParts;

  constructor(parts: ImageFilesParts) {
    this.#parts = parts;
  }

  /**
   * Passes the image to `work` as a file, or undefined if no source has its content; the disk is then empty.
   * @param beside path for a temporary copy
   * @throws {ImageUnacceptable} and whatever {@link Image.open} throws
   */
  async use(
    image: Image,
    beside: string,
    signal: AbortSignal | undefined,
    work: (source: DiskSource | undefined) => Promise<void>,
  ): Promise<void> {
    const saved = await this.#findSaved(image);
    const data = await this.#open(image, saved !== undefined);
    if (data === null) {
      return work(saved ?? this.#nothing(image));
    }
    const { files } = this.#parts.context;
    try {
      await files.writeBytes(beside, data.bytes, { signal });
      const source = { path: beside, format: data.diskFormat };
      await this.#assertSelfContained(image, source);
      await work(source);
    } finally {
      await files.remove(beside);
    }
  }

  async #open(image: Image, hasSaved: boolean): Promise<ImageData | null> {
    try {
      return await image.open();
    } catch (error) {
      if (hasSaved && (error instanceof ImageServiceNotFound || error instanceof ImageNotFound)) {
        return null;
      }
      throw error;
    }
  }

  async #findSaved({ id }: Image): Promise<DiskSource | undefined> {
    for (const format of UUID.test(id) ? ["qcow2", "raw"] : []) {
      const path = join(this.#parts.layout.images, `${id}.${format}`);
      if (await this.#parts.context.files.stat(path)) {
        return { path, format };
      }
    }
    return undefined;
  }

  #nothing({ id }: Image): undefined {
    const where = `the Image service has no content of the image, and ${this.#parts.layout.images} has neither ${id}.qcow2 nor ${id}.raw`;
    this.#parts.context.logger.warn(`${where}; the guest starts with an empty disk`, { image: id });
    return undefined;
  }

  /** Rejects images that reference other files of this machine. Images come from users. */
  async #assertSelfContained({ id }: Image, source: DiskSource): Promise<void> {
    if (source.format !== "raw" && source.format !== "qcow2") {
      throw new ImageUnacceptable(`Image ${id} is unacceptable: found ${source.format}, expected raw or qcow2`);
    }
    const about = await this.#parts.describe(source);
    const backing = about["backing-filename"] ?? dataFileOf(about["format-specific"]);
    if (backing !== undefined) {
      throw new ImageUnacceptable(`Image ${id} is unacceptable: it depends on another file, ${String(backing)}`);
    }
  }
}

interface Parts {
  readonly context: Pick<DriverContext, "files" | "processes" | "random" | "logger">;
  readonly config: Pick<QemuConfig, "imgBinary">;
  readonly layout: Layout;
  readonly lease: LeaseCheck;
}

const GIB = 1024 ** 3;

const DISK = /^disk(\.(eph\d+|swap))?$/;

const TOKEN = /^\.shared-storage-[0-9a-f]{16}$/;

/**
 * Disks of guests as qcow2 files. Each is created beside its path and then renamed, so that it is either complete or
 * absent.
 */
export class Disks {
  readonly #parts: Parts;
  readonly #images: ImageFiles;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#images = new ImageFiles({ ...parts, describe: (source) => this.#describe(source) });
  }

  async exists(uuid: string): Promise<boolean> {
    return (await this.#files.stat(this.#layout.instance(uuid))) !== undefined;
  }

  async hasRoot(uuid: string): Promise<boolean> {
    return (await this.#files.stat(this.#layout.disk(uuid, "disk"))) !== undefined;
  }

  /** Creates absent disks, the root disk from the image, and keeps existing ones. @throws {BuildAbortException} */
  async make(uuid: string, diskSpecs: readonly DiskSpec[], image?: Image, signal?: AbortSignal): Promise<void> {
    await this.#parts.lease.assertCurrentEpoch();
    await this.#files.makeFolder(this.#layout.instance(uuid));
    for (const { name, bytes } of diskSpecs) {
      const path = this.#layout.disk(uuid, name);
      await (name === "disk" && image
        ? this.#makeFrom(image, path, bytes, signal)
        : this.makeOne(path, bytes, undefined, signal));
    }
  }

  /** Creates the disk from which a rescued guest boots. */
  async makeRescue(path: string, image: Image, signal?: AbortSignal): Promise<void> {
    await this.#parts.lease.assertCurrentEpoch();
    await this.#makeFrom(image, path, Math.max(image.minDisk, 1) * GIB, signal);
  }

  async #makeFrom(image: Image, path: string, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    if (await this.#files.stat(path)) {
      return;
    }
    await this.#images.use(image, `${path}.image`, signal, (source) => this.makeOne(path, bytes, source, signal));
  }

  /** @param source if omitted, the disk is empty */
  async makeOne(path: string, bytes: number, source: DiskSource | undefined, signal?: AbortSignal): Promise<void> {
    if (await this.#files.stat(path)) {
      return;
    }
    const part = `${path}.part`;
    if (!source) {
      await this.#img(["create", "-q", "-f", "qcow2", part, String(bytes)], signal);
    } else {
      await this.copy(source.path, part, source.format, signal);
      const size = await this.virtualSize(part);
      if (bytes > 0 && size > bytes) {
        throw new BuildAbortException(
          `Flavor's disk is too small for requested image. Flavor disk is ${bytes} bytes, image is ${size} bytes.`,
        );
      }
      if (size < bytes) {
        await this.#img(["resize", "-q", "-f", "qcow2", part, String(bytes)], signal);
      }
    }
    await this.#files.rename(part, path);
  }

  /** Makes a complete copy; nothing may write to the source in the meantime. */
  async copy(from: string, to: string, format = "qcow2", signal?: AbortSignal): Promise<void> {
    await this.#img(["convert", "-q", "-f", format, "-O", "qcow2", from, to], signal);
  }

  /** Returns the disk's size in bytes as the guest sees it. */
  async virtualSize(path: string): Promise<number> {
    const info = await this.#describe({ path, format: "qcow2" });
    const { "virtual-size": size } = info;
    if (typeof size === "number") {
      return size;
    }
    throw new QemuError("ImageToolFailed", `qemu-img reports no size of ${path}`);
  }

  /**
   * Renames the instance's folder, so that its disks are safe when another agent creates it again. Succeeds if this is
   * done already; the folder then belongs to another agent.
   */
  async setAside(uuid: string): Promise<void> {
    if ((await this.exists(uuid)) && !(await this.#files.stat(this.#layout.aside(uuid)))) {
      await this.#parts.lease.assertCurrentEpoch();
      await this.#files.rename(this.#layout.instance(uuid), this.#layout.aside(uuid));
    }
  }

  /**
   * Copies the disks that were set aside below `instances`, which may belong to another host, and enlarges them to the
   * requested sizes.
   */
  async copyAside(
    instances: string,
    uuid: string,
    diskSpecs: readonly DiskSpec[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const aside = asideIn(instances, uuid);
    const there = (await this.#files.list(aside)).filter((name) => DISK.test(name));
    if (diskSpecs.some(({ name }) => name === "disk") && !there.includes("disk")) {
      throw new QemuError("DiskNotFound", `the source has no disk of guest ${uuid} set aside in ${aside}`);
    }
    // Disks in this host's folder are outdated.
    await this.forget(uuid);
    await this.#files.makeFolder(this.#layout.instance(uuid));
    for (const { name, bytes } of diskSpecs) {
      const from = join(aside, name);
      const size = there.includes(name) ? Math.max(bytes, await this.virtualSize(from)) : bytes;
      const source = there.includes(name) ? { path: from, format: "qcow2" } : undefined;
      await this.makeOne(this.#layout.disk(uuid, name), size, source, signal);
    }
  }

  /** Undoes {@link setAside}, and drops files created since. Succeeds if nothing was set aside. */
  async bringBack(uuid: string): Promise<void> {
    if (!(await this.#files.stat(this.#layout.aside(uuid)))) {
      return;
    }
    await this.#parts.lease.assertCurrentEpoch();
    await this.#files.remove(this.#layout.instance(uuid));
    await this.#files.rename(this.#layout.aside(uuid), this.#layout.instance(uuid));
  }

  async removeAside(uuid: string): Promise<void> {
    await this.#files.remove(this.#layout.aside(uuid));
  }

  /** Removes outdated files that the guest left on this host. */
  async forget(uuid: string): Promise<void> {
    await this.#parts.lease.assertCurrentEpoch();
    await this.#files.remove(this.#layout.instance(uuid));
  }

  /** Removes the instance's folder and disks that were set aside. Returns true if nothing is left. */
  async remove(uuid: string): Promise<boolean> {
    await this.forget(uuid);
    await this.removeAside(uuid);
    return !(await this.exists(uuid));
  }

  /**
   * Creates a file that another host can see if it shares the storage. @param folder that of all instances, or of one
   */
  async makeToken(folder: string, random: Random): Promise<string> {
    const name = `.shared-storage-${random.hex(8)}`;
    await this.#files.create(join(folder, name), "");
    return name;
  }

  async seesToken(folder: string, name: unknown): Promise<boolean> {
    return isToken(name) && (await this.#files.stat(join(folder, name))) !== undefined;
  }

  async removeToken(folder: string, name: unknown): Promise<void> {
    if (isToken(name)) {
      await this.#files.remove(join(folder, name));
    }
  }

  get #files() {
    return this.#parts.context.files;
  }

  get #layout() {
    return this.#parts.layout;
  }

  async #describe({ path, format }: DiskSource): Promise<Readonly<Record<string, unknown>>> {
    // -U: a running guest has the disk locked.
    const info = parsed(await this.#img(["info", "-U", "-f", format, "--output=json", path]));
    return typeof info === "object" && info !== null ? { ...info } : {};
  }

  async #img(args: readonly string[], signal?: AbortSignal): Promise<string> {
    const argv = [this.#parts.config.imgBinary, ...args];
    const { code, stdout, stderr } = await this.#parts.context.processes.run({ argv, signal });
    if (code === 0) {
      return stdout;
    }
    throw new QemuError(
      "ImageToolFailed",
      `qemu-img ${args[0]} failed: ${stderr.trim().split("\n").at(-1) ?? "no output"}`,
    );
  }
}

// Tokens come from other hosts, so nothing else may become part of a path.
const isToken = (name: unknown): name is string => typeof name === "string" && TOKEN.test(name);

function dataFileOf(specific: unknown): unknown {
  const { data } = (specific ?? {}) as { readonly data?: Readonly<Record<string, unknown>> };
  return data?.["data-file"];
}
