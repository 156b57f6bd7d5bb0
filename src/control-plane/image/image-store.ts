import { dirname, join } from "node:path";
import type { Digests } from "../../runtime/cryptography.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { Bytes } from "../../runtime/http.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";
import { conflict, HttpError, tooLarge } from "../http/http-error.js";
import {
  type ImageAttributes,
  type ImageContent,
  type ImageNotes,
  type ImageStatus,
  NO_CONTENT,
  type Rotation,
} from "./image.js";
import { ImageTable, MemberTable, TaskTable } from "./image-tables.js";
import { MetadefStore } from "./metadefs/metadef-store.js";

/** `QFI\xfb` */
const QCOW2 = 0x51_46_49_fb;

/** Bytes of a qcow2 header up to the end of the disk size. */
const HEADER = 32;

/** Determines the virtual size of a disk from the first bytes of its data. */
class VirtualSize {
  readonly #head = new Uint8Array(HEADER);
  #length = 0;

  update(part: Uint8Array): void {
    if (this.#length < HEADER) {
      const headerPart = part.subarray(0, HEADER - this.#length);
      this.#head.set(headerPart, this.#length);
      this.#length += headerPart.length;
    }
  }

  /** Returns null if the size cannot be determined for this format. @param size of the complete data, in bytes */
  of(diskFormat: string | null, size: number): number | null {
    if (diskFormat === "raw") {
      return size;
    }
    const view = new DataView(this.#head.buffer);
    if (diskFormat !== "qcow2" || this.#length < HEADER || view.getUint32(0) !== QCOW2) {
      return null;
    }
    const bytes = view.getBigUint64(24);
    return bytes <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bytes) : null;
  }
}

/** Glance's `image_size_cap`: 1 TiB. */
const SIZE_CAP = 1024 ** 4;

/** Folder of the staged data. No image has this id. */
const STAGING = "staging";

export interface ImageStoreOptions {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly files: Files;
  readonly logger: Logger;
  readonly digests: Digests;
  /** Absolute path of the data's folder. */
  readonly folder: string;
  /** Max bytes of an image. Default: 1 TiB. */
  readonly sizeCap?: number;
}

/** Statuses of images whose data is complete. */
const COMPLETE_STATUSES: readonly ImageStatus[] = ["active", "deactivated"];

/**
 * Images and their data. The data of an image is one file, renamed to the image's id once it is completely on disk, and
 * valid once the image is active. Staged data is valid once the image's record describes it. Files that a killed
 * process has left are removed before the next upload.
 */
export class ImageStore {
  readonly table: ImageTable;
  readonly members: MemberTable;
  readonly tasks: TaskTable;
  readonly metadefs: MetadefStore;
  readonly #options: ImageStoreOptions;
  #swept: Promise<void> | undefined;

  constructor(options: ImageStoreOptions) {
    const { sql, clock } = options;
    this.#options = options;
    this.table = new ImageTable(sql, clock);
    this.table.ensureBaseImages();
    this.members = new MemberTable(sql, clock);
    this.tasks = new TaskTable(sql, clock);
    this.metadefs = new MetadefStore(sql, clock);
    for (const { id, status, staged } of this.table.list()) {
      if (status === "saving" || status === "importing" || (status === "uploading" && staged === null)) {
        this.table.change(id, [status], { status: "queued", staged: null, ...NO_CONTENT });
      }
    }
    this.tasks.failUnfinished("The Image service stopped before the import was complete.");
  }

  /** Returns undefined if the image has no data. */
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
   * Stores the data of a queued image and makes the image active. If it fails, the image is queued again.
   * @param stores see {@link Image.stores}
   * @throws {HttpError} 409, 410, 413; errors of the stream
   */
  async write(id: string, bytes: Bytes, stores: readonly string[] = []): Promise<void> {
    await this.#take(id, bytes, "saving", this.#file(id), (content) => ({ status: "active", ...content, stores }));
  }

  /**
   * Stores the data of a queued image in the staging area, for a later import.
   * @throws {HttpError} 409, 410, 413; errors of the stream
   */
  async stage(id: string, bytes: Bytes): Promise<void> {
    await this.#take(id, bytes, "uploading", this.#staged(id), (content) => ({ staged: content, size: content.size }));
  }

  /**
   * Copies the data of another image, with attributes that describe it.
   * @throws {HttpError} 409, 410, 413; errors of the stream
   */
  async copy(
    id: string,
    bytes: Bytes,
    attributes: Partial<ImageAttributes & ImageContent & ImageNotes>,
  ): Promise<void> {
    await this.#take(id, bytes, "importing", this.#file(id), (content) => ({
      status: "active",
      ...content,
      ...attributes,
    }));
  }

  /**
   * Makes an image active with its staged data.
   * @param notes changes to save with the new status
   * @throws {HttpError} 409, 410
   */
  async importStaged(id: string, notes: Pick<ImageNotes, "internal" | "stores">): Promise<void> {
    const { files } = this.#options;
    const image = this.table.get(id);
    const staged = image?.staged;
    if (!staged || !this.table.change(id, ["uploading"], { status: "importing" })) {
      throw statusConflict(image?.status ?? "deleted", "importing");
    }
    try {
      await files.rename(this.#staged(id), this.#file(id));
    } catch (error) {
      this.table.change(id, ["importing"], { status: "queued", staged: null, ...NO_CONTENT });
      throw error;
    }
    if (!this.#becomes(id, "importing", { status: "active", staged: null, ...staged, ...notes })) {
      await files.remove(this.#file(id));
      throw gone(id);
    }
  }

  /** Deletes an image. Its data is removed after the transaction is committed. */
  remove(id: string): void {
    const { sql, files, logger } = this.#options;
    this.table.remove(id);
    sql.afterCommit(() => {
      for (const file of [this.#file(id), this.#staged(id)]) {
        files.remove(file).catch((error: unknown) => {
          logger.warn("could not remove the data of a deleted image; retrying at the next start", {
            image: id,
            err: error,
          });
        });
      }
    });
  }

  /** Removes a project's oldest backups beyond `keep`. A protected backup counts but is not removed. */
  rotate(owner: string, rotation: Rotation): void {
    for (const image of this.table.backups(owner, rotation).slice(rotation.keep)) {
      if (!image.protected) {
        this.remove(image.id);
      }
    }
  }

  /** Removes files that a killed process has left. It runs once; after a failure the next upload runs it again. */
  sweep(): Promise<void> {
    this.#swept ??= this.#removeLeftovers().catch((error: unknown) => {
      this.#swept = undefined;
      throw error;
    });
    return this.#swept;
  }

  async #take(
    id: string,
    bytes: Bytes,
    during: "saving" | "uploading" | "importing",
    file: string,
    done: (content: ImageContent) => Parameters<ImageTable["change"]>[2],
  ): Promise<void> {
    const { files } = this.#options;
    if (!this.table.change(id, ["queued"], { status: during })) {
      throw statusConflict(this.table.get(id)?.status ?? "deleted", during);
    }
    const incoming = join(this.#incoming, id);
    try {
      await this.sweep();
      const { counted, content } = this.#counting(bytes);
      await files.writeBytes(incoming, counted);
      await files.makeFolder(dirname(file));
      await files.rename(incoming, file);
      if (!this.#becomes(id, during, done(content(this.table.get(id)?.diskFormat ?? null)))) {
        await files.remove(file);
        throw gone(id);
      }
    } catch (error) {
      this.table.change(id, [during], { status: "queued", staged: null, ...NO_CONTENT });
      await files.remove(incoming).catch(() => {});
      const full = error instanceof FileFailure && ["ENOSPC", "EDQUOT"].includes(error.code);
      throw full ? tooLarge("There is not enough disk space on the image storage media.") : error;
    }
  }

  /** Commits the status change and a backup's rotation atomically. Returns false as {@link ImageTable.change} does. */
  #becomes(id: string, from: ImageStatus, changes: Parameters<ImageTable["change"]>[2]): boolean {
    return this.#options.sql.transaction(() => {
      const changed = this.table.change(id, [from], changes);
      const image = changed && changes.status === "active" ? this.table.get(id) : undefined;
      if (image?.rotation && image.owner !== null) {
        this.rotate(image.owner, image.rotation);
      }
      return changed;
    });
  }

  get #incoming(): string {
    return join(this.#options.folder, "incoming");
  }

  get #staging(): string {
    return join(this.#options.folder, STAGING);
  }

  #file(id: string): string {
    return join(this.#options.folder, id.toLowerCase());
  }

  #staged(id: string): string {
    return join(this.#staging, id.toLowerCase());
  }

  #counting(bytes: Bytes) {
    const { digests, sizeCap = SIZE_CAP } = this.#options;
    const md5 = digests.running("md5");
    const sha512 = digests.running("sha512");
    const virtual = new VirtualSize();
    let size = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const part of bytes) {
        size += part.length;
        if (size > sizeCap) {
          throw tooLarge(`Denying attempt to upload image larger than ${sizeCap} bytes.`);
        }
        virtual.update(part);
        md5.update(part);
        sha512.update(part);
        yield part;
      }
    }
    return {
      counted: counted(),
      content: (diskFormat: string | null): ImageContent => ({
        size,
        virtualSize: virtual.of(diskFormat, size),
        checksum: md5.hex(),
        hash: sha512.hex(),
      }),
    };
  }

  /** Removes incomplete uploads, staged files that no image refers to, and data of images that are not complete. */
  async #removeLeftovers(): Promise<void> {
    const { files, folder } = this.#options;
    await files.remove(this.#incoming);
    for (const name of await files.list(this.#staging)) {
      if (this.table.get(name)?.staged == null) {
        await files.remove(join(this.#staging, name));
      }
    }
    for (const name of await files.list(folder)) {
      const status = this.table.get(name)?.status;
      if (name !== STAGING && (status === undefined || !COMPLETE_STATUSES.includes(status))) {
        await files.remove(join(folder, name));
      }
    }
  }
}

function statusConflict(from: string, to: ImageStatus): HttpError {
  return conflict(`Image status transition from ${from} to ${to} is not allowed`);
}

function gone(id: string): HttpError {
  return new HttpError(
    410,
    `Image ${id} could not be found after upload. The image may have been deleted during the upload.`,
  );
}
