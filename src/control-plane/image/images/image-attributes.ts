import { badRequest, forbidden, tooLarge } from "../../http/http-error.js";
import { isoSeconds } from "../../http/times.js";
import { checkObject, type NamedSchema } from "../api/fault.js";
import { CONTAINERS, DISKS, type Image, type ImageAttributes } from "../image.js";
import { storesOf } from "../stores.js";

const readOnly = { type: "string", readOnly: true } as const;

const boolean = { type: "boolean" } as const;

const integer = { type: "integer" } as const;

const nullableText = (maxLength: number) => ({ type: ["null", "string"], maxLength }) as const;

export const UUID_PATTERN = "^([0-9a-fA-F]){8}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){4}-([0-9a-fA-F]){12}$";

const VALIDATION_DATA = {
  type: "object",
  writeOnly: true,
  additionalProperties: false,
  properties: {
    checksum: { type: "string", minLength: 32, maxLength: 32 },
    os_hash_algo: { type: "string", maxLength: 64 },
    os_hash_value: { type: "string", maxLength: 128 },
  },
  required: ["os_hash_algo", "os_hash_value"],
} as const;

const LOCATION = {
  type: "object",
  properties: {
    url: { type: "string", maxLength: 255 },
    metadata: { type: "object" },
    validation_data: VALIDATION_DATA,
  },
  required: ["url", "metadata"],
} as const;

const PROPERTY = { type: "string", is_base: false } as const;

const IMAGE_ID = { type: ["null", "string"], pattern: UUID_PATTERN, is_base: false } as const;

/** Properties in the `schema-image.json` of every Glance. */
const COMMON_PROPERTIES = {
  architecture: PROPERTY,
  cinder_encryption_key_deletion_policy: { ...PROPERTY, enum: ["on_image_deletion", "do_not_delete"] },
  cinder_encryption_key_id: PROPERTY,
  description: PROPERTY,
  instance_uuid: PROPERTY,
  kernel_id: IMAGE_ID,
  os_distro: PROPERTY,
  os_version: PROPERTY,
  ramdisk_id: IMAGE_ID,
} as const;

/** The schema of images and of bodies. Additional properties are strings. */
export const IMAGE_SCHEMA = {
  name: "image",
  properties: {
    id: { type: "string", pattern: UUID_PATTERN },
    name: nullableText(255),
    status: {
      ...readOnly,
      enum: [
        ...["queued", "saving", "active", "killed", "deleted", "uploading", "importing", "pending_delete"],
        "deactivated",
      ],
    },
    visibility: { type: "string", enum: ["community", "public", "private", "shared"] },
    protected: { ...boolean, description: "An image that is protected cannot be deleted." },
    os_hidden: { ...boolean, description: "An image that is hidden is left out of lists that do not ask for such." },
    checksum: { ...nullableText(32), readOnly: true, description: "MD5 of the bytes." },
    os_hash_algo: { ...nullableText(64), readOnly: true },
    os_hash_value: {
      ...nullableText(128),
      readOnly: true,
      description: "Digest of the bytes, as os_hash_algo makes it.",
    },
    owner: { ...nullableText(255), description: "Id of a project." },
    size: { type: ["null", "integer"], readOnly: true, description: "Bytes." },
    virtual_size: { type: ["null", "integer"], readOnly: true, description: "Bytes of the disk that it makes." },
    container_format: { type: ["null", "string"], enum: [null, ...CONTAINERS] },
    disk_format: { type: ["null", "string"], enum: [null, ...DISKS] },
    created_at: readOnly,
    updated_at: readOnly,
    tags: { type: "array", items: { type: "string", maxLength: 255 } },
    direct_url: readOnly,
    min_ram: { ...integer, description: "MiB that a server needs." },
    min_disk: { ...integer, description: "GiB that a server needs." },
    self: readOnly,
    file: readOnly,
    stores: readOnly,
    schema: readOnly,
    locations: { type: "array", items: LOCATION },
    ...COMMON_PROPERTIES,
  },
  additionalProperties: { type: "string" },
  links: [
    { rel: "self", href: "{self}" },
    { rel: "enclosure", href: "{file}" },
    { rel: "describedby", href: "{schema}" },
  ],
} as const satisfies NamedSchema;

/** Glance's `image_property_quota` and `image_tag_quota`. */
const MAX_PROPERTIES = 128;

const MAX_TAGS = 128;

/** Max characters of a property's name, and bytes of its value (a column of type TEXT). */
const LONGEST_NAME = 255;

const LONGEST_VALUE = 65_535;

/** Attributes that clients set, by their names in the API. */
const ATTRIBUTES = {
  name: "name",
  visibility: "visibility",
  protected: "protected",
  os_hidden: "hidden",
  owner: "owner",
  min_disk: "minDisk",
  min_ram: "minRam",
  container_format: "containerFormat",
  disk_format: "diskFormat",
  tags: "tags",
} as const satisfies Readonly<Record<string, keyof ImageAttributes>>;

const READ_ONLY: ReadonlySet<string> = new Set([
  ...["created_at", "updated_at", "status", "checksum", "size", "virtual_size", "direct_url", "self", "file"],
  ...["schema", "id", "os_hash_algo", "os_hash_value", "stores"],
]);

const RESERVED: ReadonlySet<string> = new Set(["location", "deleted", "deleted_at"]);

/** Prefix of properties that only the Image service sets. */
const RESERVED_NAMESPACE = "os_glance_";

export function isAttribute(name: string): boolean {
  return Object.hasOwn(ATTRIBUTES, name);
}

/** @throws {HttpError} 403 */
export function assertNotReserved(name: string): void {
  if (READ_ONLY.has(name)) {
    throw forbidden(`Attribute '${name}' is read-only.`);
  }
  if (RESERVED.has(name) || name.startsWith(RESERVED_NAMESPACE)) {
    throw forbidden(`Attribute '${name}' is reserved.`);
  }
}

/**
 * Returns the attributes with one attribute or property set. The schema has validated the value; null removes a
 * property.
 * @throws {HttpError} 400, 413
 */
export function withValue(attributes: ImageAttributes, name: string, value: unknown): ImageAttributes {
  if (!isAttribute(name) && value === null) {
    const { [name]: _none, ...properties } = attributes.properties;
    return { ...attributes, properties };
  }
  if (!isAttribute(name)) {
    return { ...attributes, properties: { ...attributes.properties, [checkedName(name)]: checkedValue(name, value) } };
  }
  if ((name === "min_disk" || name === "min_ram") && !isAmount(value)) {
    const reason = Number(value) < 0 ? "Cannot be a negative value" : "Must be less than 2147483648";
    throw badRequest(`Invalid value '${String(value)}' for parameter '${name}': ${reason}`);
  }
  const key = ATTRIBUTES[name as keyof typeof ATTRIBUTES];
  return { ...attributes, [key]: key === "tags" ? [...new Set(value as readonly string[])].sort() : value };
}

const isAmount = (value: unknown): boolean => typeof value === "number" && value >= 0 && value < 2 ** 31;

/** @throws {HttpError} 413 */
export function checkQuotas({ properties, tags }: ImageAttributes): void {
  assertWithinLimit("properties", Object.keys(properties).length, MAX_PROPERTIES);
  checkTags(tags);
}

/** @throws {HttpError} 413 */
export function checkTags(tags: readonly string[]): void {
  assertWithinLimit("tags", tags.length, MAX_TAGS);
}

function assertWithinLimit(what: string, attempted: number, maximum: number): void {
  if (attempted > maximum) {
    const limit = `The limit has been exceeded on the number of allowed image ${what}.`;
    throw tooLarge(`${limit} Attempted: ${attempted}, Maximum: ${maximum}`);
  }
}

/** @throws {HttpError} 400 */
export function checkMembers(value: Readonly<Record<string, unknown>>): void {
  checkObject(value, IMAGE_SCHEMA);
}

function checkedName(name: string): string {
  if (name.length > LONGEST_NAME) {
    throw badRequest("Custom property should not be greater than 255 characters.");
  }
  return name;
}

function checkedValue(name: string, value: unknown): string {
  const text = String(value);
  if (Buffer.byteLength(text) > LONGEST_VALUE) {
    throw badRequest(`The value of property ${name} has more than ${LONGEST_VALUE} bytes.`);
  }
  return text;
}

export function imageView(image: Image): Readonly<Record<string, unknown>> {
  const stores = storesOf(image);
  return {
    ...image.properties,
    ...image.internal,
    name: image.name,
    disk_format: image.diskFormat,
    container_format: image.containerFormat,
    visibility: image.visibility,
    size: image.size,
    virtual_size: image.virtualSize,
    status: image.status,
    checksum: image.checksum,
    protected: image.protected,
    min_ram: image.minRam,
    min_disk: image.minDisk,
    owner: image.owner,
    os_hidden: image.hidden,
    os_hash_algo: image.hash === null ? null : "sha512",
    os_hash_value: image.hash,
    id: image.id,
    created_at: isoSeconds(image.createdAt),
    updated_at: isoSeconds(image.updatedAt),
    tags: image.tags,
    self: `/v2/images/${image.id}`,
    file: `/v2/images/${image.id}/file`,
    schema: "/v2/schemas/image",
    ...(stores.length === 0 ? {} : { stores: stores.join(",") }),
  };
}
