import { isObject } from "../runtime/collections.js";
import { VolumeError } from "./errors.js";
import type { Volume, VolumeAttachment, VolumeSnapshot, VolumeUse } from "./volume-service.js";

/** Readers of Cinder's responses. Each throws CinderConnectionFailed if the response is not one of Cinder. */

type Body = Readonly<Record<string, unknown>>;

export function readVolume(body: Body): Volume {
  const volume = recordIn(body, "volume");
  return {
    id: textIn(volume, "id"),
    status: textIn(volume, "status"),
    size: numberIn(volume, "size"),
    volumeType: textOrNull(volume.volume_type),
    isMultiattach: volume.multiattach === true,
    uses: Array.isArray(volume.attachments) ? volume.attachments.filter(isObject).map(readUse) : [],
  };
}

function readUse(use: Body): VolumeUse {
  return {
    attachmentId: textIn(use, "attachment_id"),
    instanceUuid: textOrNull(use.server_id),
    host: textOrNull(use.host_name),
  };
}

export function readSnapshot(body: Body): VolumeSnapshot {
  const snapshot = recordIn(body, "snapshot");
  return {
    id: textIn(snapshot, "id"),
    volumeId: textIn(snapshot, "volume_id"),
    size: numberIn(snapshot, "size"),
  };
}

export function readAttachment(body: Body): VolumeAttachment {
  const attachment = recordIn(body, "attachment");
  const volumeId = textIn(attachment, "volume_id");
  const info = attachment.connection_info;
  return {
    id: textIn(attachment, "id"),
    volumeId,
    status: textIn(attachment, "status"),
    connectionInfo: isObject(info) && Object.keys(info).length > 0 ? connectionOf(attachment, volumeId, info) : null,
  };
}

/** Returns the connection as Nova stores it with a block device. */
function connectionOf(attachment: Body, volumeId: string, info: Body): Body {
  const { driver_volume_type, attachment_id: _, ...data } = info;
  const { status, instance, attached_at, detached_at } = attachment;
  return {
    driver_volume_type,
    data,
    status,
    instance,
    attached_at,
    detached_at,
    volume_id: volumeId,
    serial: volumeId,
  };
}

function recordIn(body: Body, name: string): Body {
  const found = body[name];
  return isObject(found) ? found : unexpected(name, found);
}

function textIn(record: Body, name: string): string {
  const found = record[name];
  return typeof found === "string" ? found : unexpected(name, found);
}

function numberIn(record: Body, name: string): number {
  const found = record[name];
  return typeof found === "number" ? found : unexpected(name, found);
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

function unexpected(name: string, found: unknown): never {
  throw new VolumeError(
    "CinderConnectionFailed",
    `Connection to cinder host failed: the response has no ${name}, found ${JSON.stringify(found)?.slice(0, 80)}`,
  );
}
