import { badRequest } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { and, isOneOf, where } from "../../resources/condition.js";
import { attachmentsOfVolume, detachVolume, removeAllAttachments, settleVolume } from "../attachments/attachments.js";
import type { Action } from "../engine/actions.js";
import type { Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidVolume } from "../engine/block-storage-errors.js";
import { BOOLEAN_TEXT, bodyOf, NAME, object, UUID } from "../engine/schema-parts.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { findService, isVolumeServiceDown } from "../services/pools.js";
import { deleteVolume } from "./delete-volume.js";
import { actionBody } from "./volume-actions.js";

const RULE = "volume_extension:volume_admin_actions";

/** @throws {HttpError} 400 */
function resetStatus(context: BlockStorageContext, volume: Volume, input: Body): void {
  const [status, attachStatus, migrationStatus] = ["status", "attach_status", "migration_status"].map((name) => {
    const value = input[name];
    return typeof value === "string" && value !== "" ? value.toLowerCase() : undefined;
  });
  if (status === "deleting") {
    throw badRequest("Cannot reset-state to deleting");
  }
  if (status === "in-use" && attachmentsOfVolume(context, volume.id).length === 0) {
    throw badRequest("Cannot reset-state to in-use because volume does not have any attachments.");
  }
  const changed = context.change(VOLUMES, volume.id, {
    ...(status !== undefined && { status }),
    ...(attachStatus !== undefined && { attach_status: attachStatus }),
    ...(migrationStatus !== undefined && { migration_status: migrationStatus === "none" ? null : migrationStatus }),
  });
  if (attachStatus === "detached" && changed) {
    const hasAny = attachmentsOfVolume(context, volume.id).length > 0;
    removeAllAttachments(context, volume.id);
    const { attached_mode: _mode, ...admin_metadata } = changed.admin_metadata;
    context.change(VOLUMES, volume.id, { admin_metadata });
    if (hasAny) {
      settleVolume(context, { ...changed, admin_metadata });
    }
  }
}

/** Stores the work that moves a volume to another pool. @throws {HttpError} 400 */
function migrate(context: BlockStorageContext, volume: Volume, host: string): void {
  const [service = ""] = host.split("#");
  const found = findService(context, "cinder-volume", service);
  if (found === undefined || found.disabled || isVolumeServiceDown(context)) {
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

const MIGRATE = { host: { type: "string", maxLength: 255 }, force_host_copy: BOOLEAN_TEXT, lock_volume: BOOLEAN_TEXT };

/** Actions of administrators. */
export const ADMIN_ACTIONS: Readonly<Record<string, Action<Volume>>> = {
  "os-reset_status": {
    body: actionBody("os-reset_status", {
      // The first keyword with an error counts.
      format: "validate_volume_reset_body",
      ...object({
        status: { type: ["string", "null"], format: "volume_status" },
        attach_status: { type: ["string", "null"], format: "volume_attach_status" },
        migration_status: { type: ["string", "null"], format: "volume_migration_status" },
      }),
    }),
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
      detachVolume(context, volume, input.attachment_id);
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
