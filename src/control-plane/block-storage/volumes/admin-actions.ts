import { badRequest } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { pythonRepr } from "../../python/repr.js";
import { and, isOneOf, where } from "../../resources/condition.js";
import {
  assertDetachable,
  attachmentsOfVolume,
  attachmentToDetach,
  removeAttachment,
  settleVolume,
} from "../attachments/attachments.js";
import type { Action } from "../engine/actions.js";
import type { Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidVolume } from "../engine/block-storage-errors.js";
import { BOOLEAN_TEXT, bodyOf, NAME, object, UUID } from "../engine/schema-parts.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { findService } from "../services/pools.js";
import { deleteVolume } from "./delete-volume.js";
import { actionBody } from "./volume-actions.js";

const RULE = "volume_extension:volume_admin_actions";

const STATUSES = [
  ...["creating", "available", "deleting", "error", "error_deleting", "error_managing", "managing", "attaching"],
  ...["in-use", "detaching", "maintenance", "restoring-backup", "error_restoring", "reserved", "awaiting-transfer"],
  ...["backing-up", "error_backing-up", "error_extending", "downloading", "uploading", "retyping", "extending"],
];

const ATTACH_STATUSES = ["attached", "detached"];

const MIGRATION_STATUSES = ["migrating", "error", "success", "completing", "none", "starting"];

/** Formats values as a Python tuple. */
export const pythonTuple = (values: readonly string[]): string => `(${values.map(pythonRepr).join(", ")})`;

/** @throws {HttpError} 400 */
function assertOneOf(what: string, value: unknown, valid: readonly string[]): string {
  const text = String(value).toLowerCase();
  if (!valid.includes(text)) {
    throw badRequest(`Volume ${what}: ${String(value)} is invalid, valid statuses are: ${pythonTuple(valid)}.`);
  }
  return text;
}

function resetStatus(context: BlockStorageContext, volume: Volume, input: Body): void {
  const { status, attach_status: attachStatus, migration_status: migrationStatus } = input;
  const changes = {
    ...(status !== undefined && { status: assertOneOf("status", status, STATUSES) }),
    ...(attachStatus !== undefined && {
      attach_status: assertOneOf("attach status", attachStatus, ATTACH_STATUSES),
    }),
    ...(migrationStatus !== undefined && {
      migration_status:
        assertOneOf("migration status", migrationStatus, MIGRATION_STATUSES).replace(/^none$/, "") || null,
    }),
  };
  if (Object.keys(changes).length === 0) {
    throw badRequest("Must specify 'status', 'attach_status' or 'migration_status' for update.");
  }
  if (changes.status === "in-use" && attachmentsOfVolume(context, volume.id).length === 0) {
    throw badRequest("Cannot reset-state to in-use because volume does not have any attachments.");
  }
  context.change(VOLUMES, volume.id, changes);
}

/** Stores the work that moves a volume to another pool. @throws {HttpError} 400 */
function migrate(context: BlockStorageContext, volume: Volume, host: string): void {
  const [service = ""] = host.split("#");
  if (findService(context, "cinder-volume", service) === undefined) {
    throw badRequest(`Invalid host: No available service named '${host}'`);
  }
  const allowed = and(
    isOneOf("status", ["available", "in-use"]),
    where`group_id IS NULL AND host IS NOT ${host}`,
    where`(migration_status IS NULL OR migration_status IN ('error', 'success'))`,
    where`NOT EXISTS (SELECT 1 FROM block_storage_snapshots WHERE volume_id = ${volume.id})`,
  );
  if (!context.change(VOLUMES, volume.id, { migration_status: "starting" }, allowed)) {
    throw invalidVolume(
      `Volume ${volume.id} status must be available or in-use, must not be migrating, have snapshots, be replicated, ` +
        "be part of a group and destination host/cluster must be different than the current one",
    );
  }
  context.enqueue("volume.migrate", volume.id, { host });
}

function forceDetach(context: BlockStorageContext, volume: Volume, input: Body): void {
  const attachment = attachmentToDetach(context, volume, input.attachment_id);
  if (attachment !== undefined || typeof input.attachment_id === "string") {
    assertDetachable(context, attachment, volume);
  }
  if (attachment) {
    removeAttachment(context, attachment);
  } else {
    settleVolume(context, volume);
  }
}

const MIGRATE = { host: { type: "string", maxLength: 255 }, force_host_copy: BOOLEAN_TEXT, lock_volume: BOOLEAN_TEXT };

/** Actions of administrators. */
export const ADMIN_ACTIONS: Readonly<Record<string, Action<Volume>>> = {
  "os-reset_status": {
    run: ({ context }, volume, input) => {
      context.authorize(`${RULE}:reset_status`, volume);
      resetStatus(context, volume, input);
      return undefined;
    },
  },
  "os-force_delete": {
    run: ({ context }, volume) => {
      context.authorize(`${RULE}:force_delete`, volume);
      deleteVolume(context, volume, { isForced: true });
      return undefined;
    },
  },
  "os-force_detach": {
    body: actionBody(
      "os-force_detach",
      object({ connector: { type: ["string", "object", "null"] }, attachment_id: { type: ["string", "null"] } }),
    ),
    run: ({ context }, volume, input) => {
      context.authorize(`${RULE}:force_detach`, volume);
      forceDetach(context, volume, input);
      return undefined;
    },
  },
  "os-migrate_volume": {
    body: schemas(
      [0, bodyOf("os-migrate_volume", object(MIGRATE, ["host"]))],
      [
        16,
        bodyOf(
          "os-migrate_volume",
          object({ ...MIGRATE, host: { type: ["string", "null"], maxLength: 255 }, cluster: NAME }),
        ),
      ],
    ),
    run: ({ context }, volume, input) => {
      context.authorize(`${RULE}:migrate_volume`, volume);
      migrate(context, volume, String(input.host ?? input.cluster ?? ""));
      return undefined;
    },
  },
  "os-migrate_volume_completion": {
    body: actionBody(
      "os-migrate_volume_completion",
      object({ new_volume: UUID, error: { type: ["string", "null", "boolean"] } }, ["new_volume"]),
    ),
    run: ({ context }, volume, input) => {
      context.authorize(`${RULE}:migrate_volume_completion`, volume);
      const target = context.require(VOLUMES, String(input.new_volume));
      // Migrations move the record itself, so that no volume is the target of another.
      throw invalidVolume(`Source volume ${volume.id} has no migration whose target is volume ${target.id}.`);
    },
  },
  "os-unmanage": {
    run: ({ context }, volume) => {
      context.authorize("volume_extension:volume_unmanage", volume);
      deleteVolume(context, volume, { status: "unmanaging" });
      return undefined;
    },
  },
};
