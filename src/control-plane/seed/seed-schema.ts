import { type Static, type TProperties, Type } from "typebox";
import { CONTAINERS, DISKS } from "../image/image.js";

const MAX_INT32 = 2 ** 31 - 1;
const NAME = { minLength: 1, maxLength: 255 };

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}
function amount(description: string, minimum = 0) {
  return Type.Optional(Type.Integer({ minimum, maximum: MAX_INT32, description }));
}
function words(description: string) {
  return Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 65_535 }), { description }));
}

const FLAVOR = closed(
  {
    name: Type.String(NAME),
    id: Type.Optional(Type.String({ ...NAME, description: "Default: the current one, otherwise a generated UUID." })),
    vcpus: Type.Integer({ minimum: 1, maximum: MAX_INT32 }),
    ram: Type.Integer({ minimum: 1, maximum: MAX_INT32, description: "MiB." }),
    disk: amount("GiB. Default 0."),
    ephemeral: amount("GiB. Default 0."),
    swap: amount("MiB. Default 0."),
    rxtx_factor: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: "Default 1." })),
    is_public: Type.Optional(Type.Boolean({ description: "Default true." })),
    access: Type.Optional(
      Type.Array(Type.String(), { description: "Projects, by name, with access to a flavor that is not public." }),
    ),
    description: Type.Optional(Type.String({ maxLength: 65_535 })),
    extra_specs: words("As openstack flavor set --property."),
  },
  "A flavor.",
);

const IMAGE = closed(
  {
    name: Type.String(NAME),
    id: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description: "Default: the current one, otherwise a generated one.",
      }),
    ),
    file: Type.Optional(
      Type.String({
        minLength: 1,
        description: "File with its data, relative to this file. Absent: the current data, otherwise none.",
      }),
    ),
    disk_format: Type.Optional(Type.Enum([...DISKS], { description: "Default qcow2." })),
    container_format: Type.Optional(Type.Enum([...CONTAINERS], { description: "Default bare." })),
    min_disk: amount("GiB. Default 0."),
    min_ram: amount("MiB. Default 0."),
    visibility: Type.Optional(
      Type.Enum(["public", "private", "community", "shared"], { description: "Default public." }),
    ),
    owner: Type.Optional(Type.String({ ...NAME, description: "A project, by name. Default admin." })),
    protected: Type.Optional(Type.Boolean({ description: "Default false." })),
    tags: Type.Optional(Type.Array(Type.String({ maxLength: 255 }))),
    properties: words("As openstack image set --property."),
  },
  "An image.",
);

const AGGREGATE = closed(
  {
    name: Type.String(NAME),
    availability_zone: Type.Optional(Type.String(NAME)),
    metadata: words("As openstack aggregate set --property."),
  },
  "A host aggregate; groups of hosts list the aggregates that they belong to.",
);

const PROJECT = closed(
  { name: Type.String({ ...NAME, maxLength: 64 }), description: Type.Optional(Type.String({ maxLength: 255 })) },
  "A project, in addition to admin, demo and service.",
);

const USER = closed(
  {
    name: Type.String({ ...NAME, pattern: "^[\\w.@-]+$" }),
    roles: Type.Record(Type.String(), Type.Array(Type.Enum(["reader", "member", "admin"]), { minItems: 1 }), {
      description: "Roles by project.",
      minProperties: 1,
    }),
  },
  "A user, in addition to admin and demo. Its password is generated; clouds.yaml has a cloud devstack-NAME for each user.",
);

/**
 * The contents of a cluster in addition to hosts. A key lists all objects of its kind; an absent key changes nothing.
 */
export const SEED_KEYS = {
  flavors: Type.Optional(
    Type.Array(FLAVOR, { minItems: 1, maxItems: 1000, description: "All flavors. Absent: devstack's." }),
  ),
  images: Type.Optional(
    Type.Array(IMAGE, { maxItems: 1000, description: "All images, in addition to those of every cluster." }),
  ),
  aggregates: Type.Optional(Type.Array(AGGREGATE, { maxItems: 1000, description: "All host aggregates." })),
  projects: Type.Optional(Type.Array(PROJECT, { maxItems: 1000 })),
  users: Type.Optional(Type.Array(USER, { maxItems: 1000 })),
};

export type FlavorText = Static<typeof FLAVOR>;
export type ImageText = Static<typeof IMAGE>;
export type AggregateText = Static<typeof AGGREGATE>;
export type ProjectText = Static<typeof PROJECT>;
export type UserText = Static<typeof USER>;
