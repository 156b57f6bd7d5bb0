import { badRequest } from "../../api/fault.js";
import { requireMember } from "../../api/policy.js";
import { METADATA, NAME, NON_NEGATIVE_INTEGER } from "../../api/schema-parts.js";
import { schemas } from "../../api/validate.js";
import { assertImageMetadataQuota } from "../../quotas/request-quota.js";
import { findInstance } from "../find-server.js";
import { askForSnapshot, SNAPSHOT_STATES } from "./create-image.js";
import { endAction, recordAction, requireHost, requireState, type ServerAction } from "./server-action.js";

interface CreateBackupBody {
  readonly createBackup: {
    readonly name: string;
    readonly backup_type: string;
    readonly rotation: number | string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
}

const SCHEMA = schemas<CreateBackupBody>([
  1,
  {
    type: "object",
    properties: {
      createBackup: {
        type: "object",
        properties: {
          name: NAME,
          backup_type: { type: "string" },
          rotation: NON_NEGATIVE_INTEGER,
          metadata: METADATA,
        },
        required: ["name", "backup_type", "rotation"],
        additionalProperties: false,
      },
    },
    required: ["createBackup"],
    additionalProperties: false,
  },
]);

/** Spec 6.6: a snapshot whose image takes the oldest ones of its type with it, once it has its bytes. A lock does not forbid it. */
export const createBackup: ServerAction = {
  name: "createBackup",
  schema: SCHEMA,
  run: (deps, call) => {
    const { name, backup_type: type, rotation, metadata } = call.body(SCHEMA).createBackup;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-create-backup");
    assertImageMetadataQuota(deps, call, metadata);
    requireState(instance, "createBackup", SNAPSHOT_STATES);
    if (instance.imageRef === "") {
      throw badRequest("Backup is not supported for volume-backed instances.");
    }
    const host = requireHost(instance);
    const keep = Math.min(Number(rotation), Number.MAX_SAFE_INTEGER);
    if (keep === 0) {
      recordAction(deps, call, instance, "createBackup");
      deps.images.removeBackups(instance, type);
      endAction(deps, call, instance, "compute_backup_instance");
      return { status: 202, ...(call.version >= 45 ? { body: { image_id: deps.random.uuid() } } : {}) };
    }
    const imageId = deps.images.addBackup(instance, name, { type, keep, metadata });
    askForSnapshot(deps, call, instance, { host, imageId, action: "createBackup" });
    return call.version >= 45
      ? { status: 202, body: { image_id: imageId } }
      : { status: 202, headers: { location: call.links.unscoped(`images/${imageId}`) } };
  },
};
