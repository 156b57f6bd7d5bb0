import type { Credentials } from "../credentials.js";

/** Events about volumes of servers, by Nova's names. */
export type VolumeEvent = "volume-extended" | "volume-reimaged";

/** The servers that use volumes, as Compute knows them. Its functions belong to the caller's transaction. */
export interface AttachedServers {
  /** Returns the id of the attachment by which a server uses a volume; undefined if it does not. */
  attachmentOf(serverId: string, volumeId: string): string | undefined;
  /** Notifies the hosts of a server of an event about one of its volumes. An unknown server is ignored. */
  notify(serverId: string, event: VolumeEvent, volumeId: string): void;
}

/** A volume, as Compute sees it. */
export interface ServerVolume {
  readonly id: string;
  readonly projectId: string;
  readonly status: string;
  /** GiB. */
  readonly size: number;
  readonly availabilityZone: string | null;
  readonly isBootable: boolean;
  readonly isMultiattach: boolean;
  /** Whether a server uses it. */
  readonly isAttached: boolean;
  /** Properties and attributes of the image that it was made from. */
  readonly imageMetadata: Readonly<Record<string, string>>;
}

/** An attachment of a volume to a server, as Compute sees it. */
interface VolumeAttachment {
  readonly serverUuid: string | null;
  readonly isReadOnly: boolean;
}

/** A snapshot of a volume, as Compute sees it. */
interface ServerSnapshot {
  readonly id: string;
  readonly volumeId: string;
  /** GiB. */
  readonly size: number;
}

/**
 * Volumes for Compute and the conductor. Each function is synchronous and belongs to the caller's transaction, so volumes
 * and servers change together. Errors are those of the Block Storage API: `HttpError` with its status and message.
 * Functions with a caller find what that user may see; the others act as Compute's own service, without a policy.
 */
export interface ServerVolumes {
  volume(id: string, caller: Credentials): ServerVolume | undefined;
  snapshot(id: string, caller: Credentials): ServerSnapshot | undefined;
  /** Returns the id of the type with this id or name. */
  typeId(nameOrId: string, caller: Credentials): string | undefined;
  /**
   * Reserves a volume for a server. Returns the id of the attachment, which has no connector yet.
   * @throws {HttpError} 400 unless the volume's status allows it
   */
  reserve(volumeId: string, serverUuid: string): string;
  /** Marks an attachment as in use, also without a connector. */
  complete(attachmentId: string): void;
  /** Returns the attachments in use of a volume. */
  attachments(volumeId: string): readonly VolumeAttachment[];
  /** Begins to detach a volume in use. @throws {HttpError} 400 unless its status allows it */
  beginDetaching(volumeId: string): void;
  /** Removes an attachment. A missing one is no error. */
  removeAttachment(attachmentId: string): void;
  /**
   * Creates a snapshot of a volume, also of one in use. Returns its id.
   * @throws {HttpError} 400 unless the volume's status allows it, 413
   */
  createSnapshot(volumeId: string, caller: Credentials, name: string): string;
  /** Returns a project's quota of snapshots. @returns `limit` -1: none */
  snapshotLimit(projectId: string): { readonly limit: number; readonly used: number };
  /** Deletes a volume. A missing one is no error. @throws {HttpError} 400 unless its status allows it */
  deleteVolume(volumeId: string): void;
}
