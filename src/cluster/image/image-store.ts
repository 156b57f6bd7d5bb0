import { join } from "node:path";
import type { Clock } from "../../runtime/clock.js";
import type { Digests } from "../../runtime/digests.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { Logger } from "../../runtime/logger.js";
import type { Bytes } from "../../runtime/transfers.js";
import type { Sql } from "../store/sql.js";
import { ImageTable } from "./image-table.js";
import { NO_CONTENT } from "./images.js";

/** Glance's `image_size_cap`: 1 TiB. */
const SIZE_CAP = 1024 ** 4;

/** More bytes than an image may have, or than there is room for. */
export class ImageTooLarge extends Error {
  override readonly name = "ImageTooLarge";
}

/** Another upload is under way, or was before. */
export class ImageNotQueued extends Error {
  override readonly name = "ImageNotQueued";
  readonly status: string;

  constructor(status: string) {
    super(`Image status transition from ${status} to saving is not allowed`);
    this.status = status;
  }
}

/** It was deleted while its bytes came. */
export class ImageGone extends Error {
  override readonly name = "ImageGone";
}

export interface ImageStoreOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly files: Files;
  readonly logger: Logger;
  readonly digests: Digests;
  /** Absolute folder of the bytes. */
  readonly folder: string;
  /** Bytes. Default: 1 TiB. */
  readonly sizeCap?: number;
}

/**
 * Images and their bytes: one file each, which gets its name when all of it is on the disk, and counts when the image is active.
 * What a killed process has left is removed before the next one takes bytes.
 */
export class ImageStore {
  readonly table: ImageTable;
  readonly #options: ImageStoreOptions;
  #swept: Promise<void> | undefined;

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    this.table = new ImageTable(options.sql, options.clock);
    for (const { id, status } of this.table.list()) {
      if (status === "saving") {
        this.table.change(id, ["saving"], { status: "queued" });
      }
    }
  }

  /** Undefined: it has none. */
  async read(id: string): Promise<Bytes | undefined> {
    try {
      return await this.#options.files.readBytes(this.#file(id));
    } catch (error) {
      if (error instanceof FileFailure && error.code === "ENOENT") {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * Takes all bytes of a queued image, which is then active; with anything less it is queued again.
   * @throws {ImageNotQueued} {@link ImageTooLarge} {@link ImageGone} what the stream throws
   */
  async write(id: string, bytes: Bytes): Promise<void> {
    const { files } = this.#options;
    if (!this.table.change(id, ["queued"], { status: "saving" })) {
      throw new ImageNotQueued(this.table.get(id)?.status ?? "deleted");
    }
    const incoming = join(this.#incoming, id);
    try {
      await this.#sweep();
      const { counted, content } = this.#counting(bytes);
      await files.writeBytes(incoming, counted);
      await files.rename(incoming, this.#file(id));
      if (!this.table.change(id, ["saving"], { status: "active", ...content() })) {
        await files.remove(this.#file(id));
        throw new ImageGone(
          `Image ${id} could not be found after upload. The image may have been deleted during the upload.`,
        );
      }
    } catch (error) {
      this.table.change(id, ["saving"], { status: "queued", ...NO_CONTENT });
      await files.remove(incoming).catch(() => {});
      const full = error instanceof FileFailure && ["ENOSPC", "EDQUOT"].includes(error.code);
      throw full ? new ImageTooLarge("There is not enough disk space on the image storage media.") : error;
    }
  }

  /** The bytes go when the change is stored. */
  remove(id: string): void {
    const { sql, files, logger } = this.#options;
    this.table.remove(id);
    sql.afterCommit(() => {
      files.remove(this.#file(id)).catch((error: unknown) => {
        logger.warn("the bytes of a deleted image stay until the next start", { image: id, err: error });
      });
    });
  }

  get #incoming(): string {
    return join(this.#options.folder, "incoming");
  }

  #file(id: string): string {
    return join(this.#options.folder, id.toLowerCase());
  }

  #counting(bytes: Bytes) {
    const { digests, sizeCap = SIZE_CAP } = this.#options;
    const md5 = digests.running("md5");
    const sha512 = digests.running("sha512");
    let size = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const part of bytes) {
        size += part.length;
        if (size > sizeCap) {
          throw new ImageTooLarge(`Denying attempt to upload image larger than ${sizeCap} bytes.`);
        }
        md5.update(part);
        sha512.update(part);
        yield part;
      }
    }
    return {
      counted: counted(),
      content: () => ({ size, checksum: md5.hex(), hash: sha512.hex() }),
    };
  }

  /** Once, when it succeeds: the next upload tries again. */
  #sweep(): Promise<void> {
    this.#swept ??= this.#removeLeftovers().catch((error: unknown) => {
      this.#swept = undefined;
      throw error;
    });
    return this.#swept;
  }

  /** What no active image has, and what was coming when the process before was killed. */
  async #removeLeftovers(): Promise<void> {
    const { files, folder } = this.#options;
    await files.remove(this.#incoming);
    for (const name of await files.list(folder)) {
      if (this.table.get(name)?.status !== "active") {
        await files.remove(join(folder, name));
      }
    }
  }
}
