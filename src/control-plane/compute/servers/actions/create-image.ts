import type { Instance } from "../../../../records/index.js";
import { badRequest } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { type Call, requireMember } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { METADATA, NAME, NON_NEGATIVE_INTEGER } from "../../api/schema-parts.js";
import { assertImageMetadataQuota } from "../../quotas/quota-checks.js";
import { findInstance } from "../find-server.js";
import {
  type AllowedStates,
  begin,
  endAction,
  recordAction,
  requireHost,
  requireState,
  type ServerAction,
} from "./server-action.js";

interface CreateImageBody {
  readonly createImage: { readonly name: string; readonly metadata?: Readonly<Record<string, string>> };
}

const CREATE_IMAGE = schemas<CreateImageBody>([
  1,
  {
    type: "object",
    properties: {
      createImage: {
        type: "object",
        properties: { name: NAME, metadata: METADATA },
        required: ["name"],
        additionalProperties: false,
      },
    },
    required: ["createImage"],
    additionalProperties: false,
  },
]);

/** States in which a server has a disk that can be copied. */
const SNAPSHOT_STATES: AllowedStates = { vm: ["active", "stopped", "paused", "suspended"] };

/** Creates an image of a server (spec 6.6). The image exists at once, without data; the agent uploads the data. */
export const createImage: ServerAction = {
  name: "createImage",
  schema: CREATE_IMAGE,
  run: (deps, call) => {
    const { name, metadata } = call.body(CREATE_IMAGE).createImage;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:create_image");
    requireState(instance, "createImage", SNAPSHOT_STATES);
    if (instance.imageRef === "") {
      throw badRequest("A server without a root disk of its own has nothing that an image could be made of.");
    }
    assertImageMetadataQuota(deps, call, metadata);
    const host = requireHost(instance);
    const imageId = deps.images.addSnapshot(instance, name, metadata);
    askForSnapshot(deps, call, instance, { host, imageId, action: "createImage" });
    const root = call.links.unscoped("").replace(/\/compute\/.*$/, "");
    return call.version >= 45
      ? { status: 202, body: { image_id: imageId } }
      : { status: 202, headers: { location: `${root}/image/v2/images/${imageId}` } };
  },
};

/** Has the server's host upload the server's disk to an image. */
function askForSnapshot(
  deps: ComputeDeps,
  call: Call,
  instance: Instance,
  { host, imageId, action }: { readonly host: string; readonly imageId: string; readonly action: string },
): void {
  const { requestId } = call;
  begin(deps, call, instance, { taskState: "image_snapshot_pending" }, action);
  deps.bus.cast(host, "snapshot_instance", { instanceUuid: instance.uuid, imageId, requestId }, requestId);
}

interface CreateBackupBody {
  readonly createBackup: {
    readonly name: string;
    readonly backup_type: string;
    readonly rotation: number | string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
}

const CREATE_BACKUP = schemas<CreateBackupBody>([
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

/**
 * Creates a backup (spec 6.6): a snapshot that, once uploaded, removes the oldest ones of its type. A locked server
 * allows it.
 */
export const createBackup: ServerAction = {
  name: "createBackup",
  schema: CREATE_BACKUP,
  run: (deps, call) => {
    const { name, backup_type: type, rotation, metadata } = call.body(CREATE_BACKUP).createBackup;
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
