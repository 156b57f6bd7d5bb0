/**
 * `queued`: no data yet; `saving`: being uploaded; `uploading`: being staged or staged; `importing`: being imported;
 * `active`: complete; `deactivated`: complete, but only administrators may download it.
 */
export type ImageStatus = "queued" | "saving" | "uploading" | "importing" | "active" | "deactivated";

/** Attributes that the owner sets. */
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
  /** Id of the owning project; null for none. */
  readonly owner: string | null;
  readonly tags: readonly string[];
  /** Additional properties. */
  readonly properties: Readonly<Record<string, string>>;
}

/** Attributes derived from the data; null without data. */
export interface ImageContent {
  /** Bytes. */
  readonly size: number | null;
  /** Size of the disk in bytes. */
  readonly virtualSize: number | null;
  /** MD5, hex. */
  readonly checksum: string | null;
  /** SHA-512, hex. */
  readonly hash: string | null;
}

/** Attributes that the service sets. */
export interface ImageNotes {
  /** Attributes of the staged data; null unless it is complete. */
  readonly staged: ImageContent | null;
  /** Properties that only the service sets: `os_glance_…`. */
  readonly internal: Readonly<Record<string, string>>;
  /** Ids of the stores that contain the data. Empty means the default store, if there is data. */
  readonly stores: readonly string[];
  /** Rotation of backups to run when the data is complete. */
  readonly rotation: Rotation | null;
}

/** Specifies which backups of a server a new one replaces. */
export interface Rotation {
  readonly instanceUuid: string;
  /** A name that the user chooses: `daily`, `weekly`. */
  readonly type: string;
  /** Number of the newest backups to keep, including the new one. */
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

/** Defaults for images that earlier releases stored without these attributes. */
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

/** Creates a public image of size 0. Hypervisors that boot nothing never download its data. */
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

/** Images in every cluster: one with a short name, and one with DevStack's name. */
export const BASE_IMAGES: readonly Image[] = [
  emptyImage("c0ffee00-0000-4000-8000-000000000001", "cirros", LONG_AGO),
  emptyImage("c0ffee00-0000-4000-8000-000000000002", "cirros-0.6.3-x86_64-disk", LONG_AGO - 1000),
];

/** The data of an image that is empty. */
const { size, virtualSize, checksum, hash } = emptyImage("", "", 0);
export const EMPTY_CONTENT: ImageContent = { size, virtualSize, checksum, hash };

export const isBaseImage = ({ id }: Pick<Image, "id">): boolean => BASE_IMAGES.some((image) => image.id === id);

/** Glance's `[image_format] container_formats`. */
export const CONTAINERS = ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"] as const;

/** Glance's `[image_format] disk_formats`. */
export const DISKS = ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"] as const;
