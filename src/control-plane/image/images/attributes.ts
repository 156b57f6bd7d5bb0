import { badRequest, forbidden, tooLarge } from "../api/fault.js";
import { checkObject } from "../api/validate.js";
import type { ImageAttributes } from "../images.js";
import { IMAGE_SCHEMA } from "./image-schema.js";

/** Glance's `image_property_quota` and `image_tag_quota`. */
const MAX_PROPERTIES = 128;
const MAX_TAGS = 128;

/** Characters of a property's name, and bytes of its value: a column of type TEXT. */
const LONGEST_NAME = 255;
const LONGEST_VALUE = 65_535;

/** The attributes that a client sets, by their names in the API. */
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

/** Names of properties that the Image service keeps for itself. */
const RESERVED_NAMESPACE = "os_glance_";

export function isAttribute(name: string): boolean {
  return Object.hasOwn(ATTRIBUTES, name);
}

/** @throws {ImageFault} 403 */
export function assertNotReserved(name: string): void {
  if (READ_ONLY.has(name)) {
    throw forbidden(`Attribute '${name}' is read-only.`);
  }
  if (RESERVED.has(name) || name.startsWith(RESERVED_NAMESPACE)) {
    throw forbidden(`Attribute '${name}' is reserved.`);
  }
}

/** An image's facts with one attribute or property set, or without one that is null; the value is valid by the schema. @throws {ImageFault} 400, 413 */
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

/** @throws {ImageFault} 413 */
export function checkQuotas({ properties, tags }: ImageAttributes): void {
  assertWithinLimit("properties", Object.keys(properties).length, MAX_PROPERTIES);
  checkTags(tags);
}

/** @throws {ImageFault} 413 */
export function checkTags(tags: readonly string[]): void {
  assertWithinLimit("tags", tags.length, MAX_TAGS);
}

function assertWithinLimit(what: string, attempted: number, maximum: number): void {
  if (attempted > maximum) {
    const limit = `The limit has been exceeded on the number of allowed image ${what}.`;
    throw tooLarge(`${limit} Attempted: ${attempted}, Maximum: ${maximum}`);
  }
}

/** @throws {ImageFault} 400 */
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
