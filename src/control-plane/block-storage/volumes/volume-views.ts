import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { BlockStorageCall } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";

interface VolumeParts {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly admin_metadata: Readonly<Record<string, string>>;
}

/** Attributes of administrators' metadata that users see. */
const VISIBLE = ["readonly", "attached_mode"];

export function typeNameOf({ sql }: BlockStorageContext, id: string | null): string | null {
  const [name] = sql.get("SELECT name FROM block_storage_types WHERE id = ?", id) ?? [];
  return name === undefined ? null : String(name);
}

export function metadataOf({ metadata, admin_metadata: administrative }: VolumeParts): Json {
  const visible = VISIBLE.flatMap((name) => (name in administrative ? [[name, administrative[name] ?? ""]] : []));
  return { ...metadata, ...Object.fromEntries(visible) };
}

/** Returns the id of the service that manages a pool: `devstack@lvmdriver-1#lvmdriver-1`. */
export function serviceIdOf({ sql }: BlockStorageContext, host: string | null): string | null {
  const service = host?.split("#")[0] ?? null;
  const [id] =
    sql.get("SELECT id FROM block_storage_services WHERE binary = 'cinder-volume' AND host = ?", service) ?? [];
  return id === undefined ? null : String(id);
}

/** Returns the attachments in use. Only administrators see their hosts. */
export function attachmentsOf({ id }: VolumeParts, { context }: BlockStorageCall): Json {
  const rows = context.sql.all(
    `SELECT id, instance_uuid, attached_host, mountpoint, attached_at FROM block_storage_attachments
      WHERE volume_id = ? AND attach_status = 'attached' ORDER BY rowid`,
    id,
  );
  return rows.map(([attachment = null, server = null, host = null, device = null, at]) => ({
    id,
    attachment_id: attachment,
    volume_id: id,
    server_id: server,
    host_name: context.caller.isAdmin ? host : null,
    device,
    attached_at: at === null ? null : isoMicroseconds(Number(at)),
  })) as Json;
}
