import { type Instance, isRootDevice, isVolume, isVolumeBacked } from "../../../../records/index.js";
import { badRequest, forbidden } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import type { Call } from "../../api/call.js";
import { bodyOf, METADATA, NAME, NON_NEGATIVE_INTEGER, object } from "../../api/schema-parts.js";
import { assertImageMetadataQuota } from "../../quotas/quota-checks.js";
import { localMapping, snapshotMapping } from "../block-devices/image-mappings.js";
import { asInvalidInput } from "../block-devices/volume-rules.js";
import {
  type AllowedStates,
  begin,
  endAction,
  instanceAction,
  recordAction,
  requireHost,
  requireState,
} from "./server-action.js";

type Metadata = Readonly<Record<string, string>> | undefined;

interface CreateImageBody {
  readonly createImage: { readonly name: string; readonly metadata?: Readonly<Record<string, string>> };
}

const CREATE_IMAGE = schemas<CreateImageBody>([
  1,
  bodyOf("createImage", object({ name: NAME, metadata: METADATA }, ["name"])),
]);

/** States in which a server has a disk that can be copied. */
const SNAPSHOT_STATES: AllowedStates = { vm: ["active", "stopped", "paused", "suspended"] };

/** Creates an image of a server (spec 6.6). The image exists at once, without data; the agent uploads the data. */
export const createImage = instanceAction({
  name: "createImage",
  schema: CREATE_IMAGE,
  policy: "os_compute_api:servers:create_image",
  allowsLocked: true,
  states: SNAPSHOT_STATES,
  run: (call, instance, { createImage: { name, metadata } }) => {
    assertImageMetadataQuota(call, metadata);
    const imageId = isVolumeBacked(instance)
      ? snapshotVolumes(call, instance, name, metadata)
      : snapshotDisk(call, instance, name, metadata);
    const root = call.links.unscoped("").replace(/\/compute\/.*$/, "");
    return call.version >= 45
      ? { status: 202, body: { image_id: imageId } }
      : { status: 202, headers: { location: `${root}/image/v2/images/${imageId}` } };
  },
});

/** Has the host upload the root disk. Returns the image's id. */
function snapshotDisk(call: Call, instance: Instance, name: string, metadata: Metadata): string {
  const host = requireHost(instance);
  const imageId = call.deps.images.addSnapshot(instance, name, metadata);
  askForSnapshot(call, instance, { host, imageId, action: "createImage" });
  return imageId;
}

/** Creates snapshots of all volumes, and an image without data from which servers with copies of them boot. */
function snapshotVolumes(call: Call, instance: Instance, name: string, metadata: Metadata): string {
  const { store, volumes, images } = call.deps;
  const devices = store.blockDevices.ofInstance(instance.uuid);
  const { limit, used } = volumes.snapshotLimit(instance.projectId);
  if (limit >= 0 && used + devices.filter(({ volumeId }) => volumeId !== null).length > limit) {
    throw forbidden("Quota exceeded for resources: snapshots");
  }
  recordAction(call, instance, "createImage");
  const snapshots = devices.filter(isVolume).map((device) =>
    snapshotMapping(
      device,
      asInvalidInput(call, () =>
        volumes.createSnapshot(device.volumeId ?? "", call.credentials, `snapshot for ${name}`),
      ),
    ),
  );
  const mappings = [...devices.filter((device) => !isVolume(device)).map(localMapping), ...snapshots];
  endAction(call, instance, "api_snapshot_instance");
  const root = devices.find(isRootDevice)?.deviceName;
  return images.addVolumeBacked(instance, name, {
    ...metadata,
    ...(root ? { root_device_name: root } : {}),
    block_device_mapping: JSON.stringify(mappings),
    bdm_v2: "True",
  });
}

/** Has the server's host upload the server's disk to an image. */
function askForSnapshot(
  call: Call,
  instance: Instance,
  { host, imageId, action }: { readonly host: string; readonly imageId: string; readonly action: string },
): void {
  const { requestId } = call;
  begin(call, instance, { taskState: "image_snapshot_pending" }, action);
  call.deps.bus.cast(host, "snapshot_instance", { instanceUuid: instance.uuid, imageId, requestId }, requestId);
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
  bodyOf(
    "createBackup",
    object(
      {
        name: NAME,
        backup_type: { type: "string" },
        rotation: NON_NEGATIVE_INTEGER,
        metadata: METADATA,
      },
      ["name", "backup_type", "rotation"],
    ),
  ),
]);

/**
 * Creates a backup (spec 6.6): a snapshot that, once uploaded, removes the oldest ones of its type. A locked server
 * allows it.
 */
export const createBackup = instanceAction({
  name: "createBackup",
  schema: CREATE_BACKUP,
  policy: "os_compute_api:os-create-backup",
  allowsLocked: true,
  run: (call, instance, { createBackup: { name, backup_type: type, rotation, metadata } }) => {
    assertImageMetadataQuota(call, metadata);
    requireState(instance, "createBackup", SNAPSHOT_STATES);
    if (isVolumeBacked(instance)) {
      throw badRequest("Backup is not supported for volume-backed instances.");
    }
    const host = requireHost(instance);
    const keep = Math.min(Number(rotation), Number.MAX_SAFE_INTEGER);
    if (keep === 0) {
      recordAction(call, instance, "createBackup");
      call.deps.images.removeBackups(instance, type);
      endAction(call, instance, "compute_backup_instance");
      return { status: 202, ...(call.version >= 45 ? { body: { image_id: call.deps.random.uuid() } } : {}) };
    }
    const imageId = call.deps.images.addBackup(instance, name, { type, keep, metadata });
    askForSnapshot(call, instance, { host, imageId, action: "createBackup" });
    return call.version >= 45
      ? { status: 202, body: { image_id: imageId } }
      : { status: 202, headers: { location: call.links.unscoped(`images/${imageId}`) } };
  },
});
