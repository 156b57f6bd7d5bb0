import type { NamedSchema } from "../api/validate.js";
import { CONTAINERS, DISKS } from "../formats.js";

const readOnly = { type: "string", readOnly: true } as const;
const boolean = { type: "boolean" } as const;
const integer = { type: "integer" } as const;

const text = (maxLength: number) => ({ type: ["null", "string"], maxLength }) as const;

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

/** Properties that each Glance's `schema-image.json` knows. */
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

/** What an image has, and what a body may say of one; further members are properties. */
export const IMAGE_SCHEMA = {
  name: "image",
  properties: {
    id: { type: "string", pattern: UUID_PATTERN },
    name: text(255),
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
    checksum: { ...text(32), readOnly: true, description: "MD5 of the bytes." },
    os_hash_algo: { ...text(64), readOnly: true },
    os_hash_value: { ...text(128), readOnly: true, description: "Digest of the bytes, as os_hash_algo makes it." },
    owner: { ...text(255), description: "Id of a project." },
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
