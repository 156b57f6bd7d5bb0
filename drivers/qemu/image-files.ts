import { join } from "node:path";
import {
  type DriverContext,
  type Image,
  type ImageData,
  ImageNotFound,
  ImageServiceNotFound,
  ImageUnacceptable,
} from "../../src/virt/index.js";
import { type Layout, UUID } from "./layout.js";

/** A file that a disk begins with. */
export interface DiskSource {
  readonly path: string;
  readonly format: string;
}

interface Parts {
  readonly context: Pick<DriverContext, "files" | "logger">;
  readonly layout: Layout;
  /** What qemu-img says of a file of this format. */
  readonly describe: (source: DiskSource) => Promise<Readonly<Record<string, unknown>>>;
}

/** Where the bytes of images come from: the Image service, and a folder of the machine for those that it has no bytes of. */
export class ImageFiles {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Gives `work` the image as a file; undefined: nobody has bytes of it, so that the disk is empty.
   * @param beside where a copy may lie while it is needed
   * @throws {ImageUnacceptable} what {@link Image.open} throws
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
    const where = `the Image service has no bytes of it, ${this.#parts.layout.images} no ${id}.qcow2 and no ${id}.raw`;
    this.#parts.context.logger.warn(`${where}: the guest begins with an empty disk`, { image: id });
    return undefined;
  }

  /** Users send images: none may name a file of this machine as a part of itself. */
  async #assertSelfContained({ id }: Image, source: DiskSource): Promise<void> {
    if (source.format !== "raw" && source.format !== "qcow2") {
      throw new ImageUnacceptable(`Image ${id} is unacceptable: found ${source.format}, expected raw or qcow2`);
    }
    const about = await this.#parts.describe(source);
    const backing = about["backing-filename"] ?? dataFileOf(about["format-specific"]);
    if (backing !== undefined) {
      throw new ImageUnacceptable(`Image ${id} is unacceptable: it is not whole, but a part of ${String(backing)}`);
    }
  }
}

function dataFileOf(specific: unknown): unknown {
  const { data } = (specific ?? {}) as { readonly data?: Readonly<Record<string, unknown>> };
  return data?.["data-file"];
}
