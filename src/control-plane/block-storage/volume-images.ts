import type { Credentials } from "../credentials.js";

/** The attributes of an image that volumes are made from. */
export interface VolumeImage {
  readonly id: string;
  readonly name: string | null;
  readonly status: string;
  /** Bytes. */
  readonly size: number | null;
  readonly virtualSize: number | null;
  readonly checksum: string | null;
  /** GiB. */
  readonly minDisk: number;
  /** MiB. */
  readonly minRam: number;
  readonly diskFormat: string | null;
  readonly containerFormat: string | null;
  readonly properties: Readonly<Record<string, string>>;
}

/** An image that receives the data of a volume. */
export interface NewVolumeImage {
  readonly name: string;
  readonly projectId: string;
  readonly diskFormat: string;
  readonly containerFormat: string;
  readonly visibility: "public" | "private" | "community" | "shared";
  readonly isProtected: boolean;
  readonly properties: Readonly<Record<string, string>>;
}

/** The Image service's interface for Block Storage. It shares the caller's transaction. */
export interface VolumeImages {
  /** Returns the image with this id, or those with this name, which the caller may see. */
  find(id: string, caller: Credentials): VolumeImage | undefined;
  named(name: string, caller: Credentials): readonly VolumeImage[];
  /** Creates an image without data. Returns its id. */
  add(image: NewVolumeImage): string;
  /** Completes the data of an image, which is empty: volumes have no bytes. */
  complete(id: string): void;
  remove(id: string): void;
}
