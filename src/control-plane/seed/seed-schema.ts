import { type Static, type TProperties, Type } from "typebox";
import { CONTAINERS, DISKS } from "../image/image.js";
import { VOLUME_SEED_KEYS } from "./block-storage/volume-seed-schema.js";
import { NETWORK_SEED_KEYS } from "./network/network-seed-schema.js";

const MAX_INT32 = 2 ** 31 - 1;
const NAME = { minLength: 1, maxLength: 255 };

function closed<P extends TProperties>(properties: P, description: string) {
  return Type.Object(properties, { additionalProperties: false, description });
}
function amount(description: string, minimum = 0) {
  return Type.Optional(Type.Integer({ minimum, maximum: MAX_INT32, description }));
}
function properties(description: string) {
  return Type.Optional(Type.Record(Type.String(), Type.String({ maxLength: 65_535 }), { description }));
}

const FLAVOR = closed(
  {
    name: Type.String({ ...NAME, description: "Flavor name, by which servers and this file select it." }),
    id: Type.Optional(
      Type.String({
        ...NAME,
        description: "Flavor id. Default: that of the existing flavor with this name, or a new UUID.",
      }),
    ),
    vcpus: Type.Integer({ minimum: 1, maximum: MAX_INT32, description: "Number of VCPUs." }),
    ram: Type.Integer({ minimum: 1, maximum: MAX_INT32, description: "Memory in MiB." }),
    disk: amount("Root disk in GiB. Default 0."),
    ephemeral: amount("Ephemeral disk in GiB. Default 0."),
    swap: amount("Swap disk in MiB. Default 0."),
    rxtx_factor: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, description: "Receive and transmit factor. Default 1." }),
    ),
    is_public: Type.Optional(Type.Boolean({ description: "Whether all projects may use it. Default true." })),
    access: Type.Optional(
      Type.Array(Type.String(), { description: "Names of the projects that may use a flavor with is_public: false." }),
    ),
    description: Type.Optional(Type.String({ maxLength: 65_535, description: "Flavor description." })),
    extra_specs: properties("Extra specs, as of openstack flavor set --property."),
  },
  "Flavor.",
);

const IMAGE = closed(
  {
    name: Type.String({ ...NAME, description: "Image name." }),
    id: Type.Optional(
      Type.String({
        pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        description: "Image id. Default: that of the existing image with this name, or a new UUID.",
      }),
    ),
    file: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Path of the image data, relative to this file. Default: the existing data, or none.",
      }),
    ),
    disk_format: Type.Optional(Type.Enum([...DISKS], { description: "Disk format. Default qcow2." })),
    container_format: Type.Optional(Type.Enum([...CONTAINERS], { description: "Container format. Default bare." })),
    min_disk: amount("Required root disk in GiB. Default 0."),
    min_ram: amount("Required memory in MiB. Default 0."),
    visibility: Type.Optional(
      Type.Enum(["public", "private", "community", "shared"], { description: "Visibility. Default public." }),
    ),
    owner: Type.Optional(Type.String({ ...NAME, description: "Name of the owner, a project. Default admin." })),
    protected: Type.Optional(Type.Boolean({ description: "Whether the image cannot be deleted. Default false." })),
    tags: Type.Optional(Type.Array(Type.String({ maxLength: 255 }), { description: "Image tags." })),
    properties: properties("Image properties, as of openstack image set --property."),
  },
  "Image.",
);

const AGGREGATE = closed(
  {
    name: Type.String({ ...NAME, description: "Aggregate name." }),
    availability_zone: Type.Optional(Type.String({ ...NAME, description: "Availability zone of its hosts." })),
    metadata: properties("Metadata, as of openstack aggregate set --property."),
  },
  "Host aggregate. Groups of hosts list the aggregates that they belong to.",
);

const PROJECT = closed(
  {
    name: Type.String({ ...NAME, maxLength: 64, description: "Project name." }),
    description: Type.Optional(Type.String({ maxLength: 255, description: "Project description." })),
  },
  "Project, in addition to admin, demo and service.",
);

const USER = closed(
  {
    name: Type.String({ ...NAME, pattern: "^[\\w.@-]+$", description: "User name." }),
    roles: Type.Record(Type.String(), Type.Array(Type.Enum(["reader", "member", "admin"]), { minItems: 1 }), {
      description: "Roles of the user, by project name.",
      minProperties: 1,
    }),
  },
  "User, in addition to admin and demo. The password is generated; clouds.yaml has a cloud devstack-NAME for each user.",
);

/**
 * The contents of a cluster in addition to hosts. A key lists all objects of its kind; an absent key changes nothing.
 */
export const SEED_KEYS = {
  flavors: Type.Optional(
    Type.Array(FLAVOR, {
      minItems: 1,
      maxItems: 1000,
      description: "All flavors of the cluster. Default: those of devstack.",
    }),
  ),
  images: Type.Optional(
    Type.Array(IMAGE, { maxItems: 1000, description: "All images of the cluster, in addition to cirros." }),
  ),
  aggregates: Type.Optional(
    Type.Array(AGGREGATE, { maxItems: 1000, description: "All host aggregates of the cluster." }),
  ),
  projects: Type.Optional(
    Type.Array(PROJECT, {
      maxItems: 1000,
      description: "All projects of the cluster, in addition to admin, demo and service.",
    }),
  ),
  users: Type.Optional(
    Type.Array(USER, { maxItems: 1000, description: "All users of the cluster, in addition to admin and demo." }),
  ),
  ...NETWORK_SEED_KEYS,
  ...VOLUME_SEED_KEYS,
};

export type FlavorText = Static<typeof FLAVOR>;
export type ImageText = Static<typeof IMAGE>;
export type AggregateText = Static<typeof AGGREGATE>;
export type ProjectText = Static<typeof PROJECT>;
export type UserText = Static<typeof USER>;
