import { type HttpError, notFound } from "../../http/http-error.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { isoMicroseconds } from "../../http/times.js";
import { isOneOf, where } from "../../resources/condition.js";
import type { Action } from "../engine/actions.js";
import type { BlockStorageCall, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidVolume } from "../engine/block-storage-errors.js";
import { BOOLEAN_TEXT, bodyOf, DESCRIPTION, isTrue, METADATA, object, UUID } from "../engine/schema-parts.js";
import { TYPES } from "../resources/types.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import type { NewVolumeImage } from "../volume-images.js";
import { actionBody, assertNotInMaintenance } from "./volume-actions.js";
import { imageMisfit } from "./volume-sources.js";

type Visibility = NewVolumeImage["visibility"];

const UPLOAD = {
  image_name: { type: "string", minLength: 1, maxLength: 255 },
  force: BOOLEAN_TEXT,
  disk_format: { type: "string", enum: ["raw", "vmdk", "vdi", "qcow2", "vhd", "vhdx", "ploop"] },
  container_format: DESCRIPTION,
};

const UPLOAD_BODY: SchemaVersions<Body> = schemas(
  [0, bodyOf("os-volume_upload_image", object(UPLOAD, ["image_name"]))],
  [
    1,
    bodyOf(
      "os-volume_upload_image",
      object(
        {
          ...UPLOAD,
          visibility: { type: "string", enum: ["community", "public", "private", "shared"] },
          protected: BOOLEAN_TEXT,
        },
        ["image_name"],
      ),
    ),
  ],
);

/** Properties of an image that are not properties of its copies. */
const OWN_ATTRIBUTES = [
  "image_id",
  "image_name",
  "checksum",
  "container_format",
  "disk_format",
  "min_disk",
  "min_ram",
  "size",
];

function upload({ context, version }: BlockStorageCall, volume: Volume, input: Body) {
  const visibility = version >= 1 ? ((input.visibility ?? "private") as Visibility) : "shared";
  const rule = `volume_extension:volume_actions:upload_${visibility === "public" ? "public" : "image"}`;
  context.authorize("volume_extension:volume_actions:upload_image", volume);
  context.authorize(rule, volume);
  const uploading = { status: "uploading", previous_status: volume.status };
  const changed = context.change(VOLUMES, volume.id, uploading, where`status = 'available'`);
  if (changed === undefined) {
    throw invalidVolume(`Volume ${volume.id} status must be available`);
  }
  const image = {
    name: String(input.image_name),
    projectId: context.caller.projectId,
    containerFormat: String(input.container_format ?? "bare"),
    diskFormat: String(input.disk_format ?? "raw"),
    visibility,
    isProtected: isTrue(input.protected),
    properties: Object.fromEntries(
      Object.entries(volume.image_metadata ?? {}).filter(([name]) => !OWN_ATTRIBUTES.includes(name)),
    ),
  };
  const imageId = context.services.images.add(image);
  context.enqueue("volume.upload", volume.id, { imageId });
  return {
    status: 202,
    body: {
      "os-volume_upload_image": {
        id: volume.id,
        updated_at: isoMicroseconds(volume.updated_at ?? volume.created_at),
        status: changed.status,
        display_description: volume.description,
        size: volume.size,
        volume_type: typeDocument(context, volume.volume_type_id),
        image_id: imageId,
        container_format: image.containerFormat,
        disk_format: image.diskFormat,
        image_name: image.name,
        protected: image.isProtected,
        visibility,
      },
    },
  };
}

/** The record of a type, which Cinder shows in this response only. */
function typeDocument(context: BlockStorageContext, id: string | null) {
  const type = id === null ? undefined : context.table(TYPES).get(id);
  if (type === undefined) {
    return null;
  }
  const { name, description, is_public, extra_specs, qos_specs_id, created_at, updated_at } = type;
  return {
    ...{ id, name, description, is_public, extra_specs, qos_specs_id, deleted_at: null, deleted: false },
    created_at: isoMicroseconds(created_at),
    updated_at: updated_at === null ? null : isoMicroseconds(updated_at),
  };
}

/** A volume that does not fit stays `downloading`, as Cinder leaves it. */
function reimage({ context }: BlockStorageCall, volume: Volume, input: Body): HttpError | undefined {
  const { id, status } = volume;
  const isReserved = isTrue(input.reimage_reserved);
  context.authorize(isReserved && status === "reserved" ? "volume:reimage_reserved" : "volume:reimage", volume);
  const statuses = ["available", "error", ...(isReserved ? ["reserved"] : [])];
  const downloading = { status: "downloading", previous_status: status === "error" ? "available" : status };
  if (!context.change(VOLUMES, id, downloading, isOneOf("status", statuses))) {
    throw invalidVolume(`Volume ${id} status must be ${statuses.join(" or ")}, but current status is ${status}.`);
  }
  const imageId = String(input.image_id);
  const image = context.services.images.find(imageId, context.caller.credentials);
  const misfit = image ? imageMisfit(image, volume.size) : notFound(`Image ${imageId} could not be found.`);
  if (misfit === undefined) {
    context.enqueue("volume.reimage", id, { imageId });
  }
  return misfit;
}

/** Actions on the image that a volume was made from, and on images made from volumes. */
export const IMAGE_ACTIONS: Readonly<Record<string, Action<Volume>>> = {
  "os-volume_upload_image": { body: UPLOAD_BODY, run: upload },
  "os-reimage": {
    from: 68,
    body: schemas([68, bodyOf("os-reimage", object({ image_id: UUID, reimage_reserved: BOOLEAN_TEXT }, ["image_id"]))]),
    run: reimage,
  },
  "os-set_image_metadata": {
    body: actionBody("os-set_image_metadata", object({ metadata: METADATA }, ["metadata"])),
    run: ({ context }, volume, input) => {
      context.authorize("volume_extension:volume_image_metadata:set", volume);
      assertNotInMaintenance(volume, "Updating volume metadata is not allowed for volumes in maintenance status.");
      const metadata = { ...volume.image_metadata, ...(input.metadata as Readonly<Record<string, string>>) };
      context.change(VOLUMES, volume.id, { image_metadata: Object.keys(metadata).length === 0 ? null : metadata });
      return { body: { metadata } };
    },
  },
  "os-show_image_metadata": {
    run: ({ context }, volume) => {
      context.authorize("volume:get_volume_metadata", volume);
      if (volume.image_metadata === null) {
        throw notFound(`Glance metadata for volume/snapshot ${volume.id} cannot be found.`);
      }
      return { body: { metadata: volume.image_metadata } };
    },
  },
  "os-unset_image_metadata": {
    body: actionBody(
      "os-unset_image_metadata",
      object({ key: { type: "string", minLength: 1, maxLength: 255 } }, ["key"]),
    ),
    run: ({ context }, volume, input) => {
      context.authorize("volume_extension:volume_image_metadata:remove", volume);
      const { [String(input.key)]: removed, ...rest } = volume.image_metadata ?? {};
      if (removed === undefined) {
        throw notFound(`Glance metadata for volume/snapshot ${volume.id} cannot be found.`);
      }
      const image_metadata = Object.keys(rest).length === 0 ? null : rest;
      context.change(VOLUMES, volume.id, { image_metadata });
      return {};
    },
  },
};
