import type { Bytes } from "../runtime/http.js";

/** What the Image service says of an image. */
export interface ImageMeta {
  /** Uuid. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** `bare` … */
  readonly containerFormat: string;
  /** GiB that a root disk must have. */
  readonly minDisk: number;
  /** MiB that a guest must have. */
  readonly minRam: number;
  /** The image's own: `hw_disk_bus` … */
  readonly properties: Readonly<Record<string, string>>;
}

/** What the Image service has of an image. */
export interface ImageData {
  /** Bytes. */
  readonly size: number;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** SHA-512 in hex; null: the service has none. */
  readonly hash: string | null;
  /**
   * All of them, once, at the reader's pace. After the last one they are held against what the service says of them.
   * @throws {ImageUnacceptable} they are not what was stored. {@link GlanceConnectionFailed} they broke off.
   */
  readonly bytes: Bytes;
}

/** An image, with the way to its bytes as long as the call takes that it is given to. */
export interface Image extends ImageMeta {
  /**
   * Null: the service has the image and no bytes of it.
   * @throws {ImageNotFound} {@link ImageNotActive} {@link GlanceConnectionFailed} {@link ImageServiceNotFound}
   */
  readonly open: () => Promise<ImageData | null>;
}

/** What the bytes of a snapshot are. Left out: as the image says already, which is what the guest's own image was. */
export interface UploadOptions {
  /** `qcow2`, `raw` … */
  readonly diskFormat?: string;
  /** `bare` … */
  readonly containerFormat?: string;
}

/** The Image service, as an agent reaches it for its driver. */
export interface ImageService {
  open(id: string, signal: AbortSignal): Promise<ImageData | null>;
  upload(id: string, bytes: Bytes, options: UploadOptions, signal: AbortSignal): Promise<void>;
}
