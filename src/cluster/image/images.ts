/**
 * `queued`: without bytes yet; `saving`: they come; `uploading`: they come, or have come, to the staging area; `importing`: they
 * leave it; `active`: all are there; `deactivated`: they are, for administrators only.
 */
export type ImageStatus = "queued" | "saving" | "uploading" | "importing" | "active" | "deactivated";

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

export interface Image extends ImageFacts, ImageContent, ImageNotes {
  readonly id: string;
  readonly status: ImageStatus;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export const NO_CONTENT: ImageContent = { size: null, virtualSize: null, checksum: null, hash: null };

/** Images of earlier releases have none. */
export const NO_NOTES: ImageNotes = { staged: null, internal: {}, stores: [], rotation: null };

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
  ...NO_NOTES,
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
