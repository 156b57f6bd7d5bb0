import type { VolumeConnector } from "../virt/types.js";

/** The side of a server and host that uses a volume, as a volume lists it. */
export interface VolumeUse {
  readonly attachmentId: string;
  readonly instanceUuid: string | null;
  /** The host of the connector; null if Block Storage does not say. */
  readonly host: string | null;
}

/** A volume, as far as an agent reads it. */
export interface Volume {
  readonly id: string;
  /** `available`, `in-use`, `error` … */
  readonly status: string;
  /** GiB */
  readonly size: number;
  /** Name of the type; null without a type. */
  readonly volumeType: string | null;
  readonly isMultiattach: boolean;
  /** The completed attachments. */
  readonly uses: readonly VolumeUse[];
}

export interface VolumeSnapshot {
  readonly id: string;
  readonly volumeId: string;
  /** GiB */
  readonly size: number;
}

/** An attachment of a volume, for one server on one host. */
export interface VolumeAttachment {
  readonly id: string;
  readonly volumeId: string;
  /** `reserved`, `attaching`, `attached`. */
  readonly status: string;
  /** How the host of the connector reaches the volume, in Nova's form; null without a connector. */
  readonly connectionInfo: Readonly<Record<string, unknown>> | null;
}

/** The source and properties of a volume to be created. */
export interface NewVolume {
  /** GiB */
  readonly size: number;
  readonly name: string;
  readonly imageId: string | null;
  readonly snapshotId: string | null;
  readonly volumeType: string | null;
}

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Block Storage, as an agent uses it. Methods throw VolumeError, or ClientException for a response that Nova does not
 * translate.
 */
export interface VolumeService {
  /** @throws VolumeNotFound */
  getVolume(id: string, options?: Options): Promise<Volume>;
  /** @throws SnapshotNotFound */
  getSnapshot(id: string, options?: Options): Promise<VolumeSnapshot>;
  /** Creates a volume that belongs to the project of a server. @throws InvalidInput, OverQuota */
  createVolume(volume: NewVolume, instanceUuid: string, options?: Options): Promise<Volume>;
  /** Waits until a volume is created. @throws VolumeNotCreated */
  untilAvailable(id: string, options?: Options): Promise<Volume>;
  /** Deletes a volume; a missing one is no error. @throws InvalidInput */
  deleteVolume(id: string, options?: Options): Promise<void>;
  /** Returns the attachments of a server. */
  listAttachments(instanceUuid: string, options?: Options): Promise<readonly VolumeAttachment[]>;
  /** @throws VolumeAttachmentNotFound */
  getAttachment(id: string, options?: Options): Promise<VolumeAttachment>;
  /**
   * Reserves a volume for a server.
   * @param connector connects the volume at once
   * @throws InvalidInput the volume is in use
   */
  createAttachment(
    volumeId: string,
    instanceUuid: string,
    connector: VolumeConnector | null,
    options?: Options,
  ): Promise<VolumeAttachment>;
  /** Connects a host to the volume. @throws VolumeAttachmentNotFound */
  updateAttachment(id: string, connector: VolumeConnector, options?: Options): Promise<VolumeAttachment>;
  /** Marks the volume as in use. @throws VolumeAttachmentNotFound */
  completeAttachment(id: string, options?: Options): Promise<void>;
  /** Removes an attachment; a missing one is no error. */
  deleteAttachment(id: string, options?: Options): Promise<void>;
  /** Returns a volume that is `detaching` to `in-use`. @throws VolumeNotFound, InvalidInput */
  rollDetaching(id: string, options?: Options): Promise<void>;
  /** Replaces the data of a reserved volume by those of an image. @throws InvalidInput */
  reimageVolume(id: string, imageId: string, options?: Options): Promise<void>;
}
