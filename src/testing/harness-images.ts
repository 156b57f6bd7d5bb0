import type { ImageService } from "../virt/images.js";
import { type Bytes, bytesIn, bytesOf, type Files, GlanceConnectionFailed, type ImageData } from "../virt/index.js";

/** Bytes that come at a time, so that a break has a half-way. */
const PART = 1024;

/** The Image service of a case: what is stored outlives a driver that is killed. */
export class HarnessImages implements ImageService {
  /** How often a driver has asked for bytes, and sent some. */
  downloaded = 0;
  uploaded = 0;
  /** Whether streams break off half-way. */
  breaks = false;
  readonly #files: Files;
  readonly #folder: string;

  constructor(files: Files, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  /** Puts an image there. */
  async put(id: string, text: string, diskFormat = "raw"): Promise<void> {
    await this.upload(id, bytesOf(text), { diskFormat });
    this.uploaded = 0;
  }

  /** Undefined: there are no bytes of it. */
  async size(id: string): Promise<number | undefined> {
    return (await this.#files.stat(this.#file(id)))?.bytes;
  }

  async open(id: string): Promise<ImageData | null> {
    this.downloaded += 1;
    if ((await this.#files.stat(this.#file(id))) === undefined) {
      return null;
    }
    const raw = await bytesIn(await this.#files.readBytes(this.#file(id)));
    const diskFormat = await this.#files.read(`${this.#file(id)}.format`);
    return { size: raw.length, diskFormat, hash: null, bytes: partsOf(raw, this.breaks ? raw.length / 2 : raw.length) };
  }

  async upload(id: string, bytes: Bytes, { diskFormat = "raw" }: { readonly diskFormat?: string }): Promise<void> {
    if (this.breaks) {
      for await (const _ of bytes) {
        break;
      }
      throw new GlanceConnectionFailed(`the Image service broke off while it took image ${id}`);
    }
    await this.#files.write(`${this.#file(id)}.format`, diskFormat);
    await this.#files.writeBytes(this.#file(id), bytes);
    this.uploaded += 1;
  }

  #file(id: string): string {
    return `${this.#folder}/${id}`;
  }
}

async function* partsOf(raw: Uint8Array, until: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < until; at += PART) {
    yield raw.subarray(at, Math.min(at + PART, Math.ceil(until)));
  }
  if (until < raw.length) {
    throw new GlanceConnectionFailed("the Image service broke off while it sent the image");
  }
}
