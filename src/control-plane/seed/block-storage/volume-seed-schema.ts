import { type Static, Type } from "typebox";

const NAME = { minLength: 1, maxLength: 255 };
const PROPERTIES = Type.Record(Type.String({ ...NAME }), Type.String({ maxLength: 255 }));
const MAX_INT32 = 2 ** 31 - 1;

const VOLUME_TYPE = Type.Object(
  {
    name: Type.String({ ...NAME, description: "Type name, by which volumes select it." }),
    description: Type.Optional(Type.String({ maxLength: 255, description: "Description." })),
    is_public: Type.Optional(Type.Boolean({ description: "Whether all projects may use it. Default true." })),
    access: Type.Optional(
      Type.Array(Type.String(), { description: "Names of the projects that may use a type with is_public: false." }),
    ),
    extra_specs: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        ...PROPERTIES,
        description: "Extra specs, as of openstack volume type set --property: volume_backend_name, multiattach.",
      }),
    ),
  },
  { additionalProperties: false, description: "Volume type." },
);

const VOLUME = Type.Object(
  {
    name: Type.String({ ...NAME, description: "Volume name, unique in its project." }),
    project: Type.Optional(
      Type.String({ ...NAME, maxLength: 64, description: "Name of the owner, a project. Default admin." }),
    ),
    size: Type.Integer({ minimum: 1, maximum: MAX_INT32, description: "Size in GiB." }),
    type: Type.Optional(
      Type.String({ ...NAME, description: "Name of the volume type. Default: that of the project." }),
    ),
    availability_zone: Type.Optional(Type.String({ ...NAME, description: "Zone. Default: that of the cloud." })),
    description: Type.Optional(Type.String({ maxLength: 255, description: "Description." })),
    bootable: Type.Optional(Type.Boolean({ description: "Whether servers can boot from it. Default false." })),
    metadata: Type.Optional(
      Type.Unsafe<Readonly<Record<string, string>>>({
        ...PROPERTIES,
        description: "Metadata, as of openstack volume set --property.",
      }),
    ),
  },
  { additionalProperties: false, description: "Empty volume." },
);

/** The keys of a file about volumes. Each lists all objects of its kind that belong to the file. */
export const VOLUME_SEED_KEYS = {
  volume_types: Type.Optional(
    Type.Array(VOLUME_TYPE, {
      maxItems: 1000,
      description: "All volume types of this file, in addition to those of the start and of clients.",
    }),
  ),
  volumes: Type.Optional(Type.Array(VOLUME, { maxItems: 1000, description: "All volumes of this file." })),
};

export type VolumeTypeText = Static<typeof VOLUME_TYPE>;
export type VolumeText = Static<typeof VOLUME>;

/** The desired volume types and volumes; absent keys change nothing. */
export interface VolumeSeed {
  readonly types?: readonly VolumeTypeText[] | undefined;
  readonly volumes?: readonly VolumeText[] | undefined;
}
