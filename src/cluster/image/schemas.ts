const text = { type: ["null", "string"] };
const integer = { type: ["null", "integer"] };

/** What clients read before they list: names and types of an image's members. */
export const IMAGE_SCHEMA = {
  name: "image",
  properties: {
    id: { type: "string" },
    name: text,
    status: { type: "string", readOnly: true },
    visibility: { type: "string", enum: ["community", "public", "private", "shared"] },
    protected: { type: "boolean" },
    container_format: text,
    disk_format: text,
    size: integer,
    virtual_size: integer,
    min_disk: { type: "integer" },
    min_ram: { type: "integer" },
    owner: text,
    os_hidden: { type: "boolean" },
    checksum: text,
    os_hash_algo: text,
    os_hash_value: text,
    tags: { type: "array", items: { type: "string" } },
    created_at: { type: "string", readOnly: true },
    updated_at: { type: "string", readOnly: true },
    self: { type: "string", readOnly: true },
    file: { type: "string", readOnly: true },
    schema: { type: "string", readOnly: true },
  },
  additionalProperties: { type: "string" },
  links: [
    { rel: "self", href: "{self}" },
    { rel: "enclosure", href: "{file}" },
    { rel: "describedby", href: "{schema}" },
  ],
};

export const IMAGES_SCHEMA = {
  name: "images",
  properties: {
    images: { type: "array", items: IMAGE_SCHEMA },
    schema: { type: "string" },
    next: { type: "string" },
    first: { type: "string" },
  },
  links: [
    { rel: "first", href: "{first}" },
    { rel: "next", href: "{next}" },
    { rel: "describedby", href: "{schema}" },
  ],
};
