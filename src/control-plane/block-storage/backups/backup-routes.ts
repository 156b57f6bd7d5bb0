import { badRequest, HttpError } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { isOneOf, where } from "../../resources/condition.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidBackup, invalidSnapshot, invalidVolume } from "../engine/block-storage-errors.js";
import { ACCEPTED, readRoutes, respond } from "../engine/resource-routes.js";
import {
  BOOLEAN_TEXT,
  bodyOf,
  DESCRIPTION,
  isTrue,
  METADATA,
  METADATA_OR_NULL,
  NAME,
  object,
  UUID,
  UUID_OR_NULL,
} from "../engine/schema-parts.js";
import { assertWithinQuotas } from "../quotas/quotas.js";
import { BACKUPS, type Backup } from "../resources/backups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { insertVolume } from "../volumes/create-volume.js";
import { actionBody } from "../volumes/volume-actions.js";

interface NewBackup {
  readonly volume_id: string;
  readonly snapshot_id?: string | null;
  readonly name?: string | null;
  readonly description?: string | null;
  readonly container?: string | null;
  readonly availability_zone?: string | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly incremental?: boolean | string;
  readonly force?: boolean | string;
}

const PROPERTIES = {
  volume_id: UUID,
  container: NAME,
  description: DESCRIPTION,
  incremental: BOOLEAN_TEXT,
  force: BOOLEAN_TEXT,
  name: NAME,
  snapshot_id: UUID_OR_NULL,
};

const WITH_METADATA = { ...PROPERTIES, metadata: METADATA_OR_NULL };

const CREATE: SchemaVersions<{ readonly backup: NewBackup }> = schemas(
  [0, bodyOf("backup", object(PROPERTIES, ["volume_id"]))],
  [43, bodyOf("backup", object(WITH_METADATA, ["volume_id"]))],
  [51, bodyOf("backup", object({ ...WITH_METADATA, availability_zone: NAME }, ["volume_id"]))],
);

const CHANGES = { name: NAME, description: DESCRIPTION };

const UPDATE: SchemaVersions<{ readonly backup: Body | null }> = schemas(
  [9, bodyOf("backup", { ...object(CHANGES), type: ["object", "null"] })],
  [43, bodyOf("backup", { ...object({ ...CHANGES, metadata: METADATA }), type: ["object", "null"] })],
);

const RESTORE: SchemaVersions<{ readonly restore: Body | null }> = schemas([
  0,
  bodyOf("restore", { ...object({ name: NAME, volume_id: UUID_OR_NULL }), type: ["object", "null"] }),
]);

const IMPORT: SchemaVersions<{ readonly "backup-record": { readonly backup_url: string } }> = schemas([
  0,
  bodyOf(
    "backup-record",
    object(
      {
        backup_service: { type: "string", minLength: 0, maxLength: 255 },
        backup_url: { type: "string", minLength: 1, format: "base64" },
      },
      ["backup_service", "backup_url"],
    ),
  ),
]);

/** The emulated driver, which stores no bytes. */
const DRIVER = "cinder.backup.drivers.emulated.EmulatedBackupDriver";

/** Takes the source of a backup, a volume or a snapshot of it. @throws {HttpError} 400 */
function takeSource(context: BlockStorageContext, requested: NewBackup): Volume {
  const volume = context.require(VOLUMES, requested.volume_id);
  const { status } = volume;
  if (typeof requested.snapshot_id === "string") {
    const snapshot = context.require(SNAPSHOTS, requested.snapshot_id);
    if (snapshot.volume_id !== volume.id) {
      throw invalidVolume(`Volume ${volume.id} does not match with snapshot.volume_id ${snapshot.volume_id}.`);
    }
    if (!context.change(SNAPSHOTS, snapshot.id, { status: "backing-up" }, where`status = 'available'`)) {
      throw invalidSnapshot(
        `Snapshot to be backed up must be available, but the current status is "${snapshot.status}".`,
      );
    }
    return volume;
  }
  if (status === "in-use" && !isTrue(requested.force)) {
    throw invalidVolume("Backing up an in-use volume must use the force flag.");
  }
  const backingUp = { status: "backing-up", previous_status: status };
  if (!context.change(VOLUMES, volume.id, backingUp, isOneOf("status", ["available", "in-use"]))) {
    throw invalidVolume(`Volume to be backed up must be available or in-use, but the current status is "${status}".`);
  }
  return volume;
}

/** Returns the latest backup of a volume, on which an incremental one builds. @throws {HttpError} 400 */
function requireParent(context: BlockStorageContext, volumeId: string): Backup {
  const [parent] = context
    .table(BACKUPS)
    .find(where`volume_id = ${volumeId} AND status = 'available'`, "ORDER BY data_timestamp DESC, rowid DESC LIMIT 1");
  if (parent === undefined) {
    throw invalidBackup("No backups available to do an incremental backup.");
  }
  return parent;
}

function createBackup(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { backup: requested } = call.body(CREATE);
  const { caller, now } = context;
  const volume = takeSource(context, requested);
  context.authorize("backup:create", volume);
  assertWithinQuotas(context, {
    projectId: caller.projectId,
    amounts: { backups: 1, backup_gigabytes: volume.size },
  });
  const isIncremental = isTrue(requested.incremental);
  const backup = context.insert(BACKUPS, {
    id: context.newId(),
    project_id: caller.projectId,
    user_id: caller.userId,
    created_at: now,
    updated_at: null,
    volume_id: volume.id,
    snapshot_id: requested.snapshot_id ?? null,
    name: requested.name?.trim() ?? null,
    description: requested.description?.trim() ?? null,
    status: "creating",
    size: volume.size,
    container: requested.container ?? null,
    availability_zone: null,
    object_count: 0,
    is_incremental: isIncremental,
    parent_id: isIncremental ? requireParent(context, volume.id).id : null,
    fail_reason: null,
    metadata: requested.metadata ?? {},
    volume_metadata: volume.metadata,
    data_timestamp: now,
  });
  context.enqueue("backup.create", backup.id);
  return respond(call, BACKUPS, backup, "summary", 202);
}

function updateBackup(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const requested = call.body(UPDATE).backup ?? {};
  const backup = context.require(BACKUPS, call.param("id"));
  context.authorize("backup:update", backup);
  const { name, description, metadata } = requested;
  const changed = context.change(BACKUPS, backup.id, {
    ...(typeof name === "string" && { name: name.trim() }),
    ...(typeof description === "string" && { description: description.trim() }),
    ...(metadata !== undefined && { metadata: metadata as Backup["metadata"] }),
  });
  return respond(call, BACKUPS, changed ?? backup, "summary");
}

function deleteBackup({ context, params }: BlockStorageCall): RouteResponse {
  const { id, ...backup } = context.require(BACKUPS, params.id ?? "");
  context.authorize("backup:delete", backup);
  if (!["available", "error"].includes(backup.status)) {
    throw invalidBackup("Backup status must be available or error");
  }
  if (context.table(BACKUPS).has(where`parent_id = ${id}`)) {
    throw invalidBackup("Incremental backups exist for this backup.");
  }
  context.change(BACKUPS, id, { status: "deleting" });
  context.enqueue("backup.delete", id);
  return ACCEPTED;
}

function restoreBackup(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const requested = call.body(RESTORE).restore ?? {};
  const backup = context.require(BACKUPS, call.param("id"));
  context.authorize("backup:restore", backup);
  if (backup.status !== "available") {
    throw invalidBackup("Backup status must be available");
  }
  const volume = restoreTarget(context, backup, requested);
  return {
    status: 202,
    body: { restore: { backup_id: backup.id, volume_id: volume.id, volume_name: volume.name } },
  };
}

/** Returns the volume that a backup is restored to: a new one unless the request names one. @throws {HttpError} 400 */
function restoreTarget(context: BlockStorageContext, backup: Backup, { volume_id: id, name }: Body): Volume {
  if (typeof id !== "string") {
    const volumeName = typeof name === "string" && name !== "" ? name : `restore_backup_${backup.id}`;
    return insertVolume(context, {
      name: volumeName,
      description: backup.description ?? "auto-created_from_restore_from_backup",
      size: backup.size,
      source: { backup },
    });
  }
  const volume = context.require(VOLUMES, id);
  if (volume.status !== "available") {
    throw invalidVolume("Volume to be restored to must be available");
  }
  if (volume.size < backup.size) {
    throw invalidVolume(`volume size ${volume.size} is too small to restore backup of size ${backup.size}.`);
  }
  context.change(BACKUPS, backup.id, { status: "restoring" });
  context.change(VOLUMES, volume.id, { status: "restoring-backup" });
  context.enqueue("backup.restore", backup.id, { volumeId: volume.id });
  return volume;
}

const EXPORT = "backup:export-import";

function exportRecord({ context, params }: BlockStorageCall): RouteResponse {
  const backup = context.require(BACKUPS, params.id ?? "");
  context.authorize(EXPORT, backup);
  if (backup.status !== "available") {
    throw invalidBackup(`Backup status must be available and not ${backup.status}.`);
  }
  const backup_url = Buffer.from(JSON.stringify(backup)).toString("base64");
  return { body: { "backup-record": { backup_service: DRIVER, backup_url } } };
}

function importRecord(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { backup_url: url } = call.body(IMPORT)["backup-record"];
  context.authorize("backup:backup-import");
  const record = decodeRecord(url);
  const id = String(record.id);
  if (context.table(BACKUPS).get(id)) {
    throw invalidBackup("Backup already exists in database.");
  }
  const { caller, now } = context;
  const backup = context.insert(BACKUPS, {
    id,
    project_id: caller.projectId,
    user_id: caller.userId,
    created_at: now,
    updated_at: now,
    volume_id: String(record.volume_id ?? ""),
    snapshot_id: null,
    name: typeof record.name === "string" ? record.name : null,
    description: typeof record.description === "string" ? record.description : null,
    status: "available",
    size: Number(record.size ?? 0),
    container: null,
    availability_zone: null,
    object_count: 0,
    is_incremental: false,
    parent_id: null,
    fail_reason: null,
    metadata: {},
    volume_metadata: null,
    data_timestamp: now,
  });
  return respond(call, BACKUPS, backup, "summary", 201);
}

/** @throws {HttpError} 400 */
function decodeRecord(url: string): Body {
  try {
    const record: unknown = JSON.parse(Buffer.from(url, "base64").toString());
    if (typeof record === "object" && record !== null && "id" in record) {
      return record as Body;
    }
  } catch {
    // Text that is not JSON gets the error below.
  }
  throw badRequest("Invalid input received: Can't parse backup record.");
}

const ADMIN_RULE = "volume_extension:backup_admin_actions";

const ACTIONS: Readonly<Record<string, Action<Backup>>> = {
  "os-reset_status": {
    body: actionBody("os-reset_status", object({ status: { type: "string", format: "backup_status" } }, ["status"])),
    run: ({ context }, backup, input) => {
      context.authorize(`${ADMIN_RULE}:reset_status`, backup);
      context.change(BACKUPS, backup.id, { status: String(input.status).toLowerCase() });
      return undefined;
    },
  },
  "os-force_delete": {
    run: ({ context }, backup) => {
      context.authorize(`${ADMIN_RULE}:force_delete`, backup);
      throw new HttpError(405, "Operation not supported: force delete.");
    },
  },
};

export const BACKUP_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>(
    {
      "POST /": { body: CREATE, handle: createBackup },
      "POST /import_record": { body: IMPORT, handle: importRecord },
      "PUT /:id": { from: 9, body: UPDATE, handle: updateBackup },
      "DELETE /:id": deleteBackup,
      "GET /:id/export_record": exportRecord,
      "POST /:id/restore": { body: RESTORE, handle: restoreBackup },
    },
    { prefix: "/backups" },
  ),
  ...readRoutes(BACKUPS, { list: "backup:get_all", show: "backup:get" }),
  actionRoute("/backups/:id/action", 0, ({ context, params }) => context.require(BACKUPS, params.id ?? ""), ACTIONS),
];
