import type { Json } from "../../http/json.js";
import { isOneOf, where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { conflictsWithCompute, invalidInput, invalidVolume } from "../engine/block-storage-errors.js";
import { ATTACHMENTS, type Attachment } from "../resources/attachments.js";
import { QOS_SPECS } from "../resources/qos-specs.js";
import { TYPES } from "../resources/types.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";

/** Attributes that the user of a volume reports about itself: `host`, `initiator` … */
export type Connector = Readonly<Record<string, Json>>;

/** The mode of an attachment until a connector or a client chooses one. */
export const NO_MODE = "null";

export function attachmentsOfVolume(context: BlockStorageContext, volumeId: string): readonly Attachment[] {
  return context.table(ATTACHMENTS).find(where`volume_id = ${volumeId}`);
}

/**
 * Reserves a volume for a server or a host. A server that has reserved it may reserve it again, as for a move.
 * @throws {HttpError} 400
 */
export function reserveAttachment(
  context: BlockStorageContext,
  volume: Volume,
  instance_uuid: string | null,
  mode: string,
): Attachment {
  const { id, status, multiattach } = volume;
  if (status.includes("error")) {
    throw invalidVolume(
      `Volume attachments can not be created if the volume is in an error state. The Volume ${id} currently has a status of: ${status} `,
    );
  }
  const statuses = ["available", ...(multiattach ? ["in-use"] : []), "downloading"];
  const isFree = context.change(VOLUMES, id, { status: "reserved" }, isOneOf("status", statuses)) !== undefined;
  if (!isFree && !isReservedBy(context, volume, instance_uuid)) {
    throw invalidVolume(
      `Volume ${id} status must be ${statuses.join(" or ")} to reserve, but the current status is ${status}.`,
    );
  }
  return context.insert(ATTACHMENTS, {
    id: context.newId(),
    project_id: volume.project_id,
    volume_id: id,
    instance_uuid,
    attached_host: null,
    mountpoint: null,
    attach_status: "reserved",
    attach_mode: (volume.admin_metadata.readonly ?? "") === "" ? mode : "ro",
    connector: null,
    connection_info: {},
    attached_at: null,
    created_at: context.now,
    updated_at: null,
  });
}

/** Whether a volume in use or reserved has an attachment of a server, which may move to another host. */
function isReservedBy(context: BlockStorageContext, { id, status }: Volume, instanceUuid: string | null): boolean {
  return (
    (status === "in-use" || status === "reserved") &&
    instanceUuid !== null &&
    attachmentsOfVolume(context, id).some(({ instance_uuid: server }) => server === instanceUuid)
  );
}

/** Connects the side that uses an attachment; it is in use once that side completes it. */
export function connectAttachment(
  context: BlockStorageContext,
  volume: Volume,
  attachment: Attachment,
  connector: Connector,
): Attachment {
  const mode = attachment.attach_mode === NO_MODE ? textOf(connector.mode, "rw") : attachment.attach_mode;
  const { driver_volume_type, data } = connectionOf(context, volume);
  const changed = context.change(ATTACHMENTS, attachment.id, {
    attach_status: "attaching",
    attached_at: context.now,
    attached_host: textOf(connector.host, ""),
    mountpoint: textOf(connector.mountpoint, "na"),
    attach_mode: mode,
    connector: { ...connector, mode },
    connection_info: { ...data, driver_volume_type, attachment_id: attachment.id },
  });
  context.change(VOLUMES, volume.id, { status: "attaching", attach_status: "attaching" });
  return changed ?? attachment;
}

function textOf(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** Marks an attachment as in use. */
export function completeAttachment(context: BlockStorageContext, { id, volume_id: volumeId }: Attachment): void {
  context.change(ATTACHMENTS, id, { attach_status: "attached" });
  context.change(VOLUMES, volumeId, { status: "in-use", attach_status: "attached" });
}

/** Begins to detach a volume in use. @throws {HttpError} 400 */
export function beginDetaching(context: BlockStorageContext, volumeId: string): void {
  const allowed = where`status = 'in-use' AND attach_status = 'attached'`;
  if (!context.change(VOLUMES, volumeId, { status: "detaching" }, allowed)) {
    throw invalidVolume(
      "Unable to detach volume. Volume status must be 'in-use' and attach_status must be 'attached' to detach.",
    );
  }
}

/** Removes an attachment. The volume's status follows from those that are left. */
export function removeAttachment(context: BlockStorageContext, { id, volume_id: volumeId }: Attachment): void {
  context.table(ATTACHMENTS).delete(id);
  const volume = context.table(VOLUMES).get(volumeId);
  if (volume) {
    settleVolume(context, volume);
  }
}

/** Sets the status of a volume by the attachments that are left. */
export function settleVolume(context: BlockStorageContext, volume: Volume): void {
  const { id, migration_status: migration } = volume;
  const statuses = attachmentsOfVolume(context, id).map(({ attach_status: status }) => status);
  const { attached_mode: _mode, ...admin_metadata } = volume.admin_metadata;
  const state = STATES.find(([attached]) => attached === undefined || statuses.includes(attached));
  const [, status = "available", attach_status = "detached"] = state ?? [];
  // The end of an upload or of a migration sets the status.
  const isBusy = migration === null ? volume.status === "uploading" : !["success", "error"].includes(migration);
  const isDetached = attach_status === "detached";
  context.change(VOLUMES, id, { attach_status, admin_metadata, ...(!(isDetached && isBusy) && { status }) });
}

/** Removes all attachments of a volume, without its status. */
export function removeAllAttachments(context: BlockStorageContext, volumeId: string): void {
  context.sql.execute("DELETE FROM block_storage_attachments WHERE volume_id = ?", volumeId);
}

/** The status, and the attach status, of a volume that has an attachment in this status; the first one counts. */
const STATES: readonly (readonly [attached: string | undefined, status: string, attachStatus: string])[] = [
  ["attached", "in-use", "attached"],
  ["attaching", "attaching", "attaching"],
  ["reserved", "reserved", "reserved"],
  [undefined, "available", "detached"],
];

/** Whether the side that uses an attachment has connected it. */
export function isConnected({ connection_info: info }: Pick<Attachment, "connection_info">): boolean {
  return info !== null && Object.keys(info).length > 0;
}

/** Returns how a volume is reached. Drivers that move no bytes need no more than its id and the mode. */
export function connectionOf(context: BlockStorageContext, volume: Volume) {
  const { attached_mode: mode, readonly } = volume.admin_metadata;
  const type = volume.volume_type_id === null ? undefined : context.table(TYPES).get(volume.volume_type_id);
  const qos = type?.qos_specs_id ? context.table(QOS_SPECS).get(type.qos_specs_id) : undefined;
  return {
    driver_volume_type: "iscsi",
    data: {
      access_mode: mode ?? (readonly === "True" ? "ro" : "rw"),
      qos_specs: qos && qos.consumer !== "back-end" ? qos.specs : null,
      encrypted: volume.encryption_key_id !== null,
      cacheable: false,
    },
  };
}

/**
 * Checks that an attachment may be removed: only Compute may detach a volume that a server uses (CVE-2023-2088).
 * @param attachment undefined if the request names an unknown one, or none of several
 * @throws {HttpError} 400, 409
 */
export function assertDetachable(
  context: BlockStorageContext,
  attachment: Attachment | undefined,
  volume: Volume | undefined,
): void {
  if (context.caller.isService) {
    return;
  }
  if (attachment === undefined) {
    throw conflictsWithCompute("");
  }
  if (volume && attachment.volume_id !== volume.id) {
    throw invalidInput("Mismatched volume and attachment");
  }
  const { instance_uuid: server, connection_info: info, volume_id: volumeId } = attachment;
  if (
    server !== null &&
    isConnected({ connection_info: info }) &&
    context.services.servers.attachmentOf(server, volumeId) === attachment.id
  ) {
    throw conflictsWithCompute(server);
  }
}

/**
 * Removes the attachment that a request to detach a volume names, or the volume's only one.
 * @throws {HttpError} 400, 409
 */
export function detachVolume(context: BlockStorageContext, volume: Volume, id: unknown): void {
  const attachments = attachmentsOfVolume(context, volume.id);
  const named = typeof id === "string" ? context.table(ATTACHMENTS).get(id) : undefined;
  const attachment = named ?? (typeof id !== "string" && attachments.length === 1 ? attachments[0] : undefined);
  if (attachment !== undefined || typeof id === "string" || attachments.length > 1) {
    assertDetachable(context, attachment, volume);
  }
  if (volume.status === "maintenance") {
    throw invalidVolume("The volume cannot be detached in maintenance mode.");
  }
  if (attachment === undefined && attachments.length > 1 && typeof id !== "string") {
    throw invalidVolume("Detach volume failed: More than one attachment, but no attachment_id provided.");
  }
  if (attachment) {
    removeAttachment(context, attachment);
  } else {
    settleVolume(context, volume);
  }
}
