import { isoSeconds } from "../http/times.js";

/** `queued`: without bytes yet; `saving`: they come; `active`: all are there. */
export type ImageStatus = "queued" | "saving" | "active";

/** What its owner says of an image. */
export interface ImageFacts {
  readonly name: string | null;
  readonly visibility: "public" | "private" | "community" | "shared";
  readonly protected: boolean;
  readonly hidden: boolean;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string | null;
  readonly containerFormat: string | null;
  /** GiB. */
  readonly minDisk: number;
  /** MiB. */
  readonly minRam: number;
  /** The project that it is of; null: of none. */
  readonly owner: string | null;
  readonly tags: readonly string[];
  /** Further members. */
  readonly properties: Readonly<Record<string, string>>;
}

/** What the service finds out of the bytes; null as long as there are none. */
export interface ImageContent {
  /** Bytes. */
  readonly size: number | null;
  /** Bytes of the disk that it makes. */
  readonly virtualSize: number | null;
  /** MD5, hex. */
  readonly checksum: string | null;
  /** SHA-512, hex. */
  readonly hash: string | null;
}

export interface Image extends ImageFacts, ImageContent {
  readonly id: string;
  readonly status: ImageStatus;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const NO_CONTENT: ImageContent = { size: null, virtualSize: null, checksum: null, hash: null };

export const PLAIN: ImageFacts = {
  name: null,
  visibility: "shared",
  protected: false,
  hidden: false,
  diskFormat: null,
  containerFormat: null,
  minDisk: 0,
  minRam: 0,
  owner: null,
  tags: [],
  properties: {},
};

const LONG_AGO = Date.UTC(2024, 0, 1);

/** What every cloud has. It has no bytes: hypervisors that boot nothing do not ask for any. */
export const BASE: Image = {
  ...PLAIN,
  id: "c0ffee00-0000-4000-8000-000000000001",
  name: "cirros",
  status: "active",
  visibility: "public",
  protected: true,
  diskFormat: "qcow2",
  containerFormat: "bare",
  size: 21_430_272,
  virtualSize: 117_440_512,
  checksum: null,
  hash: null,
  createdAt: LONG_AGO,
  updatedAt: LONG_AGO,
};

export function imageView(image: Image): Readonly<Record<string, unknown>> {
  return {
    ...image.properties,
    id: image.id,
    name: image.name,
    status: image.status,
    visibility: image.visibility,
    protected: image.protected,
    container_format: image.containerFormat,
    disk_format: image.diskFormat,
    size: image.size,
    virtual_size: image.virtualSize,
    min_disk: image.minDisk,
    min_ram: image.minRam,
    owner: image.owner,
    os_hidden: image.hidden,
    checksum: image.checksum,
    os_hash_algo: image.hash === null ? null : "sha512",
    os_hash_value: image.hash,
    tags: image.tags,
    created_at: isoSeconds(image.createdAt),
    updated_at: isoSeconds(image.updatedAt),
    self: `/v2/images/${image.id}`,
    file: `/v2/images/${image.id}/file`,
    schema: "/v2/schemas/image",
  };
}
