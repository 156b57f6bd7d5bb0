/**
 * `queued`: without bytes yet; `saving`: they come; `uploading`: they come, or have come, to the staging area; `importing`: they
 * leave it; `active`: all are there; `deactivated`: they are, for administrators only.
 */
export type ImageStatus = "queued" | "saving" | "uploading" | "importing" | "active" | "deactivated";

/** What its owner says of an image. */
export interface ImageAttributes {
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

/** What the service notes for itself. */
export interface ImageNotes {
  /** What the bytes in the staging area are; null: not all are there. */
  readonly staged: ImageContent | null;
  /** Members that the service alone sets: `os_glance_…`. */
  readonly internal: Readonly<Record<string, string>>;
  /** Ids of the stores that its bytes are in; empty: in the default one, if there are any. */
  readonly stores: readonly string[];
  /** What becomes due when it has its bytes. */
  readonly rotation: Rotation | null;
}

/** Which backups of a server a new one makes superfluous. */
export interface Rotation {
  readonly instanceUuid: string;
  /** `daily`, `weekly`: the user's own word. */
  readonly type: string;
  /** The newest ones that stay, the new one among them. */
  readonly keep: number;
}

export interface Image extends ImageAttributes, ImageContent, ImageNotes {
  readonly id: string;
  readonly status: ImageStatus;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const NO_CONTENT: ImageContent = { size: null, virtualSize: null, checksum: null, hash: null };

/** Images of earlier releases have none. */
export const NO_NOTES: ImageNotes = { staged: null, internal: {}, stores: [], rotation: null };

export const PLAIN: ImageAttributes = {
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

/** A public image without bytes, which it says: hypervisors that boot nothing do not ask for any. */
function emptyImage(id: string, name: string, createdAt: number): Image {
  return {
    ...PLAIN,
    ...NO_NOTES,
    id,
    name,
    status: "active",
    visibility: "public",
    protected: true,
    diskFormat: "qcow2",
    containerFormat: "bare",
    size: 0,
    virtualSize: null,
    checksum: "d41d8cd98f00b204e9800998ecf8427e",
    hash:
      "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce" +
      "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
    createdAt,
    updatedAt: createdAt,
  };
}

/** Images that every cloud has: one of a short name, and one named as DevStack names it. */
export const BASE_IMAGES: readonly Image[] = [
  emptyImage("c0ffee00-0000-4000-8000-000000000001", "cirros", LONG_AGO),
  emptyImage("c0ffee00-0000-4000-8000-000000000002", "cirros-0.6.3-x86_64-disk", LONG_AGO - 1000),
];

export const isBaseImage = ({ id }: Pick<Image, "id">): boolean => BASE_IMAGES.some((image) => image.id === id);

/** Glance's `[image_format] container_formats`. */
export const CONTAINERS = ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"] as const;

/** Glance's `[image_format] disk_formats`. */
export const DISKS = ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"] as const;
