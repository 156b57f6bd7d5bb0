import { asRecord, parseJson } from "../../placement-client/json.js";

/** What the agent reads of an image's record. */
export interface ImageRecord {
  readonly status: string;
  /** Bytes. */
  readonly size: number | null;
  readonly diskFormat: string | null;
  /** MD5, hex. */
  readonly checksum: string | null;
  /** SHA-512, hex. */
  readonly hash: string | null;
}

export function readImage(text: string): ImageRecord {
  const image = asRecord(parseJson(text));
  const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);
  return {
    status: String(image.status),
    size: typeof image.size === "number" ? image.size : null,
    diskFormat: textOrNull(image.disk_format),
    checksum: textOrNull(image.checksum),
    hash: image.os_hash_algo === "sha512" ? textOrNull(image.os_hash_value) : null,
  };
}
