import { badRequest, HttpError } from "../../http/http-error.js";
import type { SchemaVersions } from "../../http/schemas.js";
import { schemas } from "../../http/schemas.js";
import { and, isOneOf, where } from "../../resources/condition.js";
import {
  assertDetachable,
  attachmentsOfVolume,
  beginDetaching,
  connectionOf,
  detachVolume,
} from "../attachments/attachments.js";
import type { Action } from "../engine/actions.js";
import type { Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidInput, invalidVolume } from "../engine/block-storage-errors.js";
import { BOOLEAN_TEXT, bodyOf, isTrue, object, UUID, UUID_OR_NULL } from "../engine/schema-parts.js";
import { assertVolumeSize, assertWithinQuotas } from "../quotas/quotas.js";
import { ATTACHMENTS } from "../resources/attachments.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { isMultiattach, requireTypeNamed } from "../types/find-type.js";

const ACTIONS_RULE = "volume_extension:volume_actions";

export function actionBody(name: string, schema: Readonly<Record<string, unknown>>): SchemaVersions<Body> {
  return schemas([0, bodyOf(name, schema)]);
}

/** @throws {HttpError} 400 */
export function assertNotInMaintenance({ status }: Volume, message: string): void {
  if (status === "maintenance") {
    throw invalidVolume(message);
  }
}

/** The first minor microversion that extends volumes in use. */
const EXTEND_IN_USE = 42;

/** `multiattach` volumes may be reserved while they are in use. */
function reserve(context: BlockStorageContext, { id, status, multiattach }: Volume): void {
  const statuses = multiattach ? ["available", "in-use"] : ["available"];
  if (!context.change(VOLUMES, id, { status: "attaching" }, isOneOf("status", statuses))) {
    throw invalidVolume(`Volume status must be ${statuses.join(" or ")} to reserve, but the status is ${status}.`);
  }
}

/** Returns an error after the first changes, which Cinder keeps. */
function attach(context: BlockStorageContext, volume: Volume, input: Body): HttpError | undefined {
  const { id, multiattach } = volume;
  assertNotInMaintenance(volume, "The volume cannot be attached in maintenance mode.");
  const mode = String(input.mode ?? "rw");
  const administrative: Volume["admin_metadata"] = { readonly: "False", ...volume.admin_metadata };
  context.change(VOLUMES, id, { admin_metadata: administrative });
  if (administrative.readonly === "True" && mode !== "ro") {
    return badRequest(`Invalid attaching mode '${mode}' for volume ${id}.`);
  }
  if (volume.status === "attaching" && (administrative.attached_mode ?? mode) !== mode) {
    return invalidVolume("being attached by different mode");
  }
  const server = typeof input.instance_uuid === "string" ? input.instance_uuid : null;
  const host = typeof input.host_name === "string" ? input.host_name : null;
  const isAttached = attachmentsOfVolume(context, id).some((one) =>
    server === null ? one.attached_host === host : one.instance_uuid === server,
  );
  if (isAttached) {
    context.change(VOLUMES, id, { status: "in-use" });
    return undefined;
  }
  if (volume.status === "in-use" && !multiattach && volume.migration_status === null) {
    return invalidVolume("volume is already attached and multiple attachments are not enabled");
  }
  context.insert(ATTACHMENTS, {
    id: context.newId(),
    project_id: volume.project_id,
    volume_id: id,
    instance_uuid: server,
    attached_host: host,
    mountpoint: String(input.mountpoint),
    attach_status: "attached",
    attach_mode: mode,
    connector: null,
    connection_info: null,
    attached_at: context.now,
    created_at: context.now,
    updated_at: null,
  });
  const admin_metadata = { ...administrative, attached_mode: mode };
  context.change(VOLUMES, id, { status: "in-use", attach_status: "attached", admin_metadata });
  return undefined;
}

/** Stores the work that extends a volume. */
function extend(context: BlockStorageContext, volume: Volume, size: number, isInUse: boolean): void {
  context.authorize(isInUse ? "volume:extend_attached_volume" : "volume:extend", volume);
  if (size <= volume.size) {
    throw invalidInput(
      `New size for extend must be greater than current size. (current: ${volume.size}, extended: ${size}).`,
    );
  }
  const expected = isInUse ? "in-use" : "available";
  const extending = { status: "extending", previous_status: volume.status };
  if (!context.change(VOLUMES, volume.id, extending, where`status = ${expected}`)) {
    throw invalidVolume(
      `Volume ${volume.id} status must be '{'status': '${expected}'}' to extend, currently ${volume.status}.`,
    );
  }
  assertVolumeSize(context, volume.project_id, size);
  assertWithinQuotas(context, {
    projectId: volume.project_id,
    volumeTypeId: volume.volume_type_id,
    amounts: { gigabytes: size - volume.size },
  });
  context.enqueue("volume.extend", volume.id, { size });
}

const RETYPE_TEXT =
  "Retype needs volume to be in available or in-use state, not be part of an active migration or a consistency group, " +
  "requested type has to be different that the one from the volume, and for in-use volumes front-end qos specs cannot change.";

function retype(context: BlockStorageContext, volume: Volume, input: Body): void {
  // Cinder also finds types of other projects.
  const type = requireTypeNamed(context.as(context.requestId), String(input.new_type));
  if (isMultiattach(type) !== volume.multiattach && volume.status !== "available") {
    throw invalidInput(
      `Invalid volume_type passed, retypes affecting multiattach are only allowed on available volumes, the specified volume however currently has a status of: ${volume.status}.`,
    );
  }
  if (isMultiattach(type) && !volume.multiattach) {
    context.authorize("volume:multiattach", volume);
  }
  if (isMultiattach(type) && type.encryption !== null) {
    throw invalidInput("Retype requested both encryption and multi-attach, which is not supported.");
  }
  assertWithinQuotas(context, {
    projectId: volume.project_id,
    volumeTypeId: type.id,
    amounts: { volumes: 1, gigabytes: volume.size },
    isOnlyOfType: true,
  });
  const allowed = and(
    isOneOf("status", ["available", "in-use"]),
    where`group_id IS NULL AND volume_type_id IS NOT ${type.id}`,
    where`(migration_status IS NULL OR migration_status IN ('error', 'success'))`,
  );
  if (!context.change(VOLUMES, volume.id, { status: "retyping", previous_status: volume.status }, allowed)) {
    throw invalidVolume(RETYPE_TEXT);
  }
  const mayMove = input.migration_policy === "on-demand";
  context.enqueue("volume.retype", volume.id, { typeId: type.id, mayMove });
}

function revert(context: BlockStorageContext, volume: Volume, snapshotId: unknown): void {
  const [latest] = context
    .table(SNAPSHOTS)
    .find(where`volume_id = ${volume.id}`, "ORDER BY created_at DESC, id DESC LIMIT 1");
  if (latest === undefined) {
    throw badRequest(`Volume ${volume.id} doesn't have any snapshots.`);
  }
  if (latest.id !== snapshotId) {
    throw new HttpError(
      400,
      `Specified snapshot ${String(snapshotId)} is None or not the latest one of volume ${volume.id}.`,
    );
  }
  if (latest.size !== volume.size) {
    throw invalidVolume(
      `Can't revert volume ${volume.id} to its latest snapshot ${latest.id}. The volume size must be equal to the snapshot size.`,
    );
  }
  const text = `Can't revert volume ${volume.id} to its latest snapshot ${latest.id}.`;
  const reverting = { status: "reverting", previous_status: volume.status };
  if (!context.change(VOLUMES, volume.id, reverting, isOneOf("status", ["available", "in-use"]))) {
    throw new HttpError(409, `Invalid volume: ${text} Volume's status must be 'available'.`);
  }
  if (!context.change(SNAPSHOTS, latest.id, { status: "restoring" }, where`status = 'available'`)) {
    throw new HttpError(409, `Invalid snapshot: ${text} Snapshot's status must be 'available'.`);
  }
  context.enqueue("volume.revert", volume.id, { snapshotId: latest.id });
}

const CONNECTOR = { type: ["object", "string"] };

/** Actions of users, and of Compute on their behalf. */
export const VOLUME_ACTIONS: Readonly<Record<string, Action<Volume>>> = {
  "os-attach": {
    body: actionBody(
      "os-attach",
      object(
        {
          instance_uuid: UUID,
          mountpoint: { type: "string", minLength: 1, maxLength: 255 },
          host_name: { type: "string", maxLength: 255 },
          mode: { type: "string", enum: ["rw", "ro"] },
        },
        ["mountpoint"],
        { anyOf: [{ required: ["instance_uuid"] }, { required: ["host_name"] }] },
      ),
    ),
    run: ({ context }, volume, input) => {
      context.authorize(`${ACTIONS_RULE}:attach`, volume);
      return attach(context, volume, input);
    },
  },
  "os-begin_detaching": {
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:begin_detaching`, volume);
      beginDetaching(context, volume.id);
      return undefined;
    },
  },
  "os-detach": {
    body: actionBody("os-detach", {
      type: ["object", "null"],
      properties: { attachment_id: UUID_OR_NULL },
      additionalProperties: false,
    }),
    run: ({ context }, volume, input) => {
      context.authorize(`${ACTIONS_RULE}:detach`, volume);
      detachVolume(context, volume, input.attachment_id);
      return undefined;
    },
  },
  "os-extend": {
    body: actionBody(
      "os-extend",
      object({ new_size: { type: ["integer", "string"], pattern: "^[0-9]+$", minimum: 1, maximum: 2_147_483_647 } }, [
        "new_size",
      ]),
    ),
    run: ({ context, version }, volume, input) => {
      extend(context, volume, Number(input.new_size), version >= EXTEND_IN_USE && volume.status === "in-use");
      return undefined;
    },
  },
  "os-initialize_connection": {
    body: actionBody("os-initialize_connection", object({ connector: CONNECTOR }, ["connector"])),
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:initialize_connection`, volume);
      assertNotInMaintenance(volume, "The volume connection cannot be initialized in maintenance mode.");
      return { body: { connection_info: connectionOf(context, volume) } };
    },
  },
  "os-terminate_connection": {
    body: actionBody(
      "os-terminate_connection",
      object({ connector: { type: ["string", "object", "null"] } }, ["connector"]),
    ),
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:terminate_connection`, volume);
      const [attachment, ...others] = attachmentsOfVolume(context, volume.id);
      if (attachment) {
        assertDetachable(context, others.length === 0 ? attachment : undefined, volume);
      }
      return undefined;
    },
  },
  "os-reserve": {
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:reserve`, volume);
      reserve(context, volume);
      return undefined;
    },
  },
  "os-unreserve": {
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:unreserve`, volume);
      const status = attachmentsOfVolume(context, volume.id).length > 0 ? "in-use" : "available";
      context.change(VOLUMES, volume.id, { status }, where`status = 'attaching'`);
      return undefined;
    },
  },
  "os-roll_detaching": {
    run: ({ context }, volume) => {
      context.authorize(`${ACTIONS_RULE}:roll_detaching`, volume);
      context.change(VOLUMES, volume.id, { status: "in-use" }, where`status = 'detaching'`);
      return undefined;
    },
  },
  "os-retype": {
    body: actionBody(
      "os-retype",
      object(
        { new_type: { type: "string" }, migration_policy: { type: ["string", "null"], enum: ["on-demand", "never"] } },
        ["new_type"],
      ),
    ),
    run: ({ context }, volume, input) => {
      context.authorize("volume:retype", volume);
      retype(context, volume, input);
      return undefined;
    },
  },
  "os-set_bootable": {
    body: actionBody("os-set_bootable", object({ bootable: BOOLEAN_TEXT }, ["bootable"])),
    run: ({ context }, volume, input) => {
      context.authorize("volume:update", volume);
      assertNotInMaintenance(volume, "The volume cannot be updated during maintenance.");
      context.change(VOLUMES, volume.id, { bootable: isTrue(input.bootable) });
      return {};
    },
  },
  "os-update_readonly_flag": {
    body: actionBody("os-update_readonly_flag", object({ readonly: BOOLEAN_TEXT }, ["readonly"])),
    run: ({ context }, volume, input) => {
      context.authorize("volume:update_readonly_flag", volume);
      if (volume.status !== "available") {
        throw invalidVolume(
          `Volume ${volume.id} status must be available to update readonly flag, but current status is: ${volume.status}.`,
        );
      }
      const readonly = isTrue(input.readonly) ? "True" : "False";
      context.change(VOLUMES, volume.id, { admin_metadata: { ...volume.admin_metadata, readonly } });
      return undefined;
    },
  },
  revert: {
    from: 40,
    run: ({ context }, volume, input) => {
      context.authorize("volume:revert_to_snapshot", volume);
      revert(context, volume, input.snapshot_id);
      return undefined;
    },
  },
};
