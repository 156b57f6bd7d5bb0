import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import type { Schema, SchemaVersions } from "../../http/schemas.js";
import { schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import { defaultZone } from "../block-storage-options.js";
import type { BlockStorageCall, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidInput } from "../engine/block-storage-errors.js";
import { respond } from "../engine/resource-routes.js";
import { BOOLEAN_TEXT, isTrue, METADATA_OR_NULL, NAME, NULL_OR_UUID, object } from "../engine/schema-parts.js";
import { assertVolumeSize, assertWithinQuotas } from "../quotas/quotas.js";
import { SERVICES } from "../resources/administration.js";
import { BACKUPS } from "../resources/backups.js";
import type { Group } from "../resources/groups.js";
import { TYPES, type VolumeType } from "../resources/types.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { defaultType, isMultiattach, requireTypeNamed } from "../types/find-type.js";
import { assertSourceFits, findSourceAndGroup, sizeOfSource, type VolumeSource } from "./volume-sources.js";

const NAME_TEXT = { type: ["string", "null"], format: "name_non_mandatory_remove_white_spaces" };
const DESCRIPTION_TEXT = { type: ["string", "null"], format: "description_non_mandatory_remove_white_spaces" };

/** Names and descriptions, also by their former names. */
export const NAMES = {
  name: NAME_TEXT,
  description: DESCRIPTION_TEXT,
  display_name: NAME_TEXT,
  display_description: DESCRIPTION_TEXT,
};

const SIZE = { type: ["integer", "string", "null"], pattern: "^[0-9]+$", minimum: 1, maximum: 2_147_483_647 };

const PROPERTIES = {
  ...NAMES,
  volume_type: NAME,
  metadata: METADATA_OR_NULL,
  snapshot_id: NULL_OR_UUID,
  source_volid: NULL_OR_UUID,
  consistencygroup_id: NULL_OR_UUID,
  size: SIZE,
  availability_zone: { ...NAME, minLength: 1 },
  multiattach: { oneOf: [{ type: "null" }, BOOLEAN_TEXT] },
  image_id: NAME,
  imageRef: NAME,
};

function createBody(properties: Schema, isOpen: boolean): Schema {
  const volume = { type: "object", properties, additionalProperties: isOpen };
  return object({ volume, "OS-SCH-HNT:scheduler_hints": { type: ["object", "null"] } }, ["volume"]);
}

const WITH_GROUP = { ...PROPERTIES, group_id: NAME };
const WITH_BACKUP = { ...WITH_GROUP, backup_id: NULL_OR_UUID };

export const CREATE_VOLUME: SchemaVersions<{ readonly volume: Body }> = schemas(
  [0, createBody(PROPERTIES, true)],
  [13, createBody(WITH_GROUP, true)],
  [47, createBody(WITH_BACKUP, true)],
  [53, createBody(WITH_BACKUP, false)],
);

/** Handles `POST /volumes`. */
export function createVolume(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { volume: requested } = call.body(CREATE_VOLUME);
  if (Object.keys(requested).length === 0) {
    throw badRequest(MALFORMED);
  }
  const typeName = textOf(requested.volume_type);
  const type = typeName === undefined ? undefined : requireTypeNamed(context, typeName);
  const { source, group } = findSourceAndGroup(context, requested);
  if (isTrue(requested.multiattach)) {
    throw badRequest(
      "multiattach parameter has been removed. The default behavior is to use multiattach enabled volume types. " +
        "Contact your administrator to create a multiattach enabled volume type and use it to create multiattach volumes.",
    );
  }
  if (group && type === undefined) {
    throw invalidInput("volume_type must be provided when creating a volume in a group.");
  }
  context.authorize(source.image ? "volume:create_from_image" : "volume:create");
  const volume = insertVolume(context, {
    name: trimmed(requested.name ?? requested.display_name),
    description: trimmed(requested.description ?? requested.display_description),
    size: readSize(requested.size, source),
    metadata: (requested.metadata ?? {}) as Readonly<Record<string, string>>,
    availabilityZone: textOf(requested.availability_zone),
    type,
    source,
    group,
  });
  return respond(call, VOLUMES, volume, "detail", 202);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns a name or a description without its outer white space; undefined for anything but a text. */
export const trimmed = (value: unknown): string | undefined => (typeof value === "string" ? value.trim() : undefined);

const MALFORMED = "The server could not comply with the request since it is either malformed or otherwise incorrect.";

/** @throws {HttpError} 400 */
function readSize(requested: unknown, source: VolumeSource): number {
  const size = requested === undefined || requested === null ? sizeOfSource(source) : Number(requested);
  if (size === 0) {
    throw invalidInput(
      "Invalid volume size provided for create request: 0 (size argument must be an integer (or string representation of an integer) and greater than zero).",
    );
  }
  if (size === undefined) {
    throw badRequest(MALFORMED);
  }
  return size;
}

interface NewVolume {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** GiB. */
  readonly size: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly availabilityZone?: string | undefined;
  readonly type?: VolumeType | undefined;
  readonly source: VolumeSource;
  readonly group?: Group | undefined;
  readonly groupSnapshotMember?: true;
}

/** Creates the record of a volume within the quotas, and stores the work that makes it. @throws {HttpError} 400, 413 */
export function insertVolume(context: BlockStorageContext, requested: NewVolume): Volume {
  const { caller } = context;
  const { size, source, group } = requested;
  assertTypeFits(context, requested);
  assertSourceFits(source, size);
  const type = requested.type ?? typeOfSource(context, source) ?? defaultType(context, caller.projectId);
  if (group && !group.volume_type_ids.includes(type?.id ?? "")) {
    throw invalidInput(
      `Invalid volume_type provided: ${type?.id ?? "None"} (requested type must be supported by this group).`,
    );
  }
  if (type?.encryption && type.encryption.cipher === null) {
    throw badRequest("Invalid encryption spec");
  }
  assertVolumeSize(context, caller.projectId, size);
  assertWithinQuotas(context, {
    projectId: caller.projectId,
    volumeTypeId: type?.id ?? null,
    amounts: { volumes: 1, gigabytes: size },
  });
  const volume = context.insert(VOLUMES, {
    ...newVolume(context),
    name: requested.name ?? null,
    description: requested.description ?? null,
    size,
    availability_zone: zoneOf(context, requested),
    volume_type_id: type?.id ?? null,
    snapshot_id: source.snapshot?.id ?? null,
    source_volid: source.volume?.id ?? null,
    bootable: isBootable(context, source),
    multiattach: isMultiattach(type) || source.volume?.multiattach === true,
    metadata: requested.metadata ?? {},
    encryption_key_id: type?.encryption ? context.newId() : null,
    group_id: group?.id ?? null,
  });
  const { image, backup } = source;
  if (backup) {
    context.change(BACKUPS, backup.id, { status: "restoring" });
  }
  context.enqueue("volume.create", volume.id, {
    ...(image && { imageId: image.id }),
    ...(backup && { backupId: backup.id }),
  });
  return volume;
}

/** A copy is encrypted like its source, and on the same back end. @throws {HttpError} 400 */
function assertTypeFits(context: BlockStorageContext, { type, source }: NewVolume): void {
  const original = source.volume ?? source.snapshot;
  if (type === undefined || original === undefined || type.id === original.volume_type_id) {
    return;
  }
  const known = original.volume_type_id === null ? undefined : context.table(TYPES).get(original.volume_type_id);
  const [one, other] = [known, type].map((each) => each?.extra_specs.volume_backend_name);
  const isDisabled = where`binary = 'cinder-volume' AND disabled = 1`;
  const isOnOneBackEnd = (one !== undefined && one === other) || context.table(SERVICES).count(isDisabled) === 1;
  if (!isEncryptedAlike(known, type) || !isOnOneBackEnd) {
    const advice = source.volume ? "either match source volume, or omit type" : "recommend omitting the type";
    throw invalidInput(
      `Invalid volume_type provided: ${type.id} (requested type is not compatible; ${advice} argument).`,
    );
  }
}

function isEncryptedAlike(one: VolumeType | undefined, other: VolumeType): boolean {
  const [first, second] = [one, other].map((type) => {
    const { cipher, control_location, key_size, provider } = type?.encryption ?? {};
    return JSON.stringify([cipher, control_location, key_size, provider]);
  });
  return first === second;
}

/** Returns the attributes of every new volume. */
export function newVolume(context: BlockStorageContext): Volume {
  const { caller, services } = context;
  return {
    id: context.newId(),
    project_id: caller.projectId,
    user_id: caller.userId,
    created_at: context.now,
    updated_at: null,
    name: null,
    description: null,
    size: 0,
    status: "creating",
    previous_status: null,
    attach_status: "detached",
    migration_status: null,
    availability_zone: defaultZone(services.options),
    host: null,
    volume_type_id: null,
    snapshot_id: null,
    source_volid: null,
    bootable: false,
    multiattach: false,
    metadata: {},
    admin_metadata: {},
    image_metadata: null,
    encryption_key_id: null,
    group_id: null,
    consumes_quota: true,
  };
}

/** A copy has the type of its source. An image may name one. */
function typeOfSource(context: BlockStorageContext, { snapshot, volume, image }: VolumeSource): VolumeType | undefined {
  const id = snapshot?.volume_type_id ?? volume?.volume_type_id;
  const name = image?.properties.cinder_img_volume_type;
  if (id) {
    return context.table(TYPES).get(id);
  }
  return name === undefined ? undefined : requireTypeNamed(context, name);
}

/** Returns the zone of a copy's source, or the requested one if a back end has it. */
function zoneOf(context: BlockStorageContext, { availabilityZone, source, group }: NewVolume): string | null {
  const { options } = context.services;
  const fallback = defaultZone(options);
  const original = source.volume ?? (source.snapshot && context.table(VOLUMES).get(source.snapshot.volume_id));
  if (original) {
    return original.availability_zone;
  }
  const requested = availabilityZone ?? group?.availability_zone ?? fallback;
  return options.backEnds.some((backEnd) => backEnd.availabilityZone === requested) ? requested : fallback;
}

function isBootable(context: BlockStorageContext, { snapshot, volume }: VolumeSource): boolean {
  const original = volume ?? (snapshot && context.table(VOLUMES).get(snapshot.volume_id));
  return original?.bootable === true;
}
