import {
  ADMINS,
  action,
  bool,
  idIn,
  listQuery,
  name,
  nameOrIdIn,
  type Operation,
  oneOf,
  PROJECTS,
  type Source,
  some,
} from "../operation.js";

const specs = oneOf<unknown>({ a: "1" }, { multiattach: "<is> True" }, { b: "2", c: "3" }, {}, { "x:y": "z" });

/** A type is only created with specs that a back end meets. */
const extraSpecs = oneOf<unknown>({}, { multiattach: "<is> True" }, { "own:y": "z" }, { volume_backend_name: "none" });

const encryption = some({
  provider: [0.98, oneOf("luks", "plain")],
  control_location: [0.98, oneOf("front-end", "back-end", "x")],
  cipher: [0.5, oneOf("aes-xts-plain64", null)],
  key_size: [0.5, oneOf<unknown>(256, "128", -1, "x")],
});

function typeQuery(source: Source): string {
  const filters = {
    is_public: [0.3, oneOf("True", "false", "None", "x")],
    name: [0.05, oneOf("lvmdriver-1", "x")],
    extra_specs: [0.05, oneOf("{'multiattach': '<is> True'}")],
  } as const;
  return listQuery(source, "types", filters, ["name", "created_at", "bogus"]);
}

const ofAdmins = { callers: ADMINS };

const specsOf = (path: string, key: string, value: typeof specs): readonly Operation[] => [
  { weight: 0.7, method: "GET", path },
  { weight: 0.7, method: "POST", path, body: (source) => ({ [key]: value(source) }), ...ofAdmins },
  { weight: 0.7, method: "GET", path: `${path}/a` },
  { weight: 0.7, method: "PUT", path: `${path}/a`, body: oneOf<unknown>({ a: "2" }, { b: "2" }), ...ofAdmins },
  { weight: 0.5, method: "DELETE", path: `${path}/b`, ...ofAdmins },
];

/** Volume types, their specs, encryption and access; QoS specs; default types; group types. */
export const TYPE_OPERATIONS: readonly Operation[] = [
  {
    weight: 3,
    method: "POST",
    path: "/types",
    ...ofAdmins,
    body: (source) => ({
      volume_type: some({
        name: [0.98, name],
        description: [0.3, oneOf("", "one", null)],
        extra_specs: [0.5, extraSpecs],
        "os-volume-type-access:is_public": [0.3, bool],
      })(source),
    }),
  },
  {
    weight: 1.5,
    method: "PUT",
    path: "/types/{types}",
    ...ofAdmins,
    body: (source) => ({
      volume_type: some({
        description: [0.5, oneOf("", "two", null)],
        is_public: [0.2, bool],
      })(source),
    }),
  },
  { weight: 1.5, method: "DELETE", path: "/types/{types}", ...ofAdmins },
  { weight: 3, method: "GET", path: "/types", query: typeQuery },
  { weight: 2, method: "GET", path: "/types/{types}" },
  { weight: 0.5, method: "GET", path: "/types/default" },
  ...specsOf("/types/{types}/extra_specs", "extra_specs", oneOf<unknown>({ "own:a": "1" }, { "own:b": "2" }, {})),
  { weight: 0.7, method: "GET", path: "/types/{types}/os-volume-type-access", ...ofAdmins },
  action(1, "types", "addProjectAccess", some({ project: [0.98, oneOf(...PROJECTS, "x")] }), ofAdmins),
  action(0.7, "types", "removeProjectAccess", some({ project: [0.98, oneOf(...PROJECTS)] }), ofAdmins),
  { weight: 0.7, method: "GET", path: "/types/{types}/encryption", ...ofAdmins },
  { weight: 0.4, method: "GET", path: "/types/{types}/encryption/cipher", ...ofAdmins },
  {
    weight: 1,
    method: "POST",
    path: "/types/{types}/encryption",
    ...ofAdmins,
    body: (source) => ({ encryption: encryption(source) }),
  },
  {
    weight: 0.5,
    method: "PUT",
    path: "/types/{types}/encryption/{types}",
    ...ofAdmins,
    body: (source) => ({ encryption: encryption(source) }),
  },
  { weight: 0.4, method: "DELETE", path: "/types/{types}/encryption/{types}", ...ofAdmins },
  {
    weight: 1,
    method: "POST",
    path: "/qos-specs",
    ...ofAdmins,
    body: (source) => ({
      qos_specs: some({
        name: [0.98, name],
        consumer: [0.6, oneOf("both", "front-end", "x")],
        iops: [0.5, oneOf("9")],
      })(source),
    }),
  },
  {
    weight: 0.7,
    method: "PUT",
    path: "/qos-specs/{qos_specs}",
    ...ofAdmins,
    body: (source) => ({ qos_specs: some({ iops: [0.8, oneOf("10")], consumer: [0.3, oneOf("back-end")] })(source) }),
  },
  { weight: 0.5, method: "DELETE", path: "/qos-specs/{qos_specs}", query: oneOf("", "force=true"), ...ofAdmins },
  { weight: 1, method: "GET", path: "/qos-specs", ...ofAdmins },
  { weight: 0.7, method: "GET", path: "/qos-specs/{qos_specs}", ...ofAdmins },
  { weight: 0.5, method: "GET", path: "/qos-specs/{qos_specs}/associations", ...ofAdmins },
  ...["associate", "disassociate"].map((word): Operation => {
    const query = (source: Source) => `vol_type_id=${idIn("types")(source)}`;
    return { weight: 0.6, method: "GET", path: `/qos-specs/{qos_specs}/${word}`, query, ...ofAdmins };
  }),
  { weight: 0.3, method: "GET", path: "/qos-specs/{qos_specs}/disassociate_all", ...ofAdmins },
  {
    weight: 0.5,
    method: "PUT",
    path: "/qos-specs/{qos_specs}/delete_keys",
    ...ofAdmins,
    body: oneOf<unknown>({ keys: ["iops"] }, { keys: ["gone"] }),
  },
  { weight: 0.5, method: "GET", path: "/default-types", ...ofAdmins },
  { weight: 0.5, method: "GET", path: `/default-types/${PROJECTS[1]}`, ...ofAdmins },
  {
    weight: 0.5,
    method: "PUT",
    path: `/default-types/${PROJECTS[1]}`,
    ...ofAdmins,
    body: (source) => ({ default_type: { volume_type: nameOrIdIn("types")(source) } }),
  },
  { weight: 0.5, method: "DELETE", path: `/default-types/${PROJECTS[1]}`, ...ofAdmins },
  {
    weight: 1.5,
    method: "POST",
    path: "/group_types",
    ...ofAdmins,
    body: (source) => ({
      group_type: some({
        name: [0.98, name],
        description: [0.3, oneOf("", "one")],
        is_public: [0.2, bool],
        group_specs: [0.3, specs],
      })(source),
    }),
  },
  {
    weight: 0.7,
    method: "PUT",
    path: "/group_types/{group_types}",
    ...ofAdmins,
    body: (source) => ({ group_type: some({ name: [0.4, name], description: [0.5, oneOf("two")] })(source) }),
  },
  { weight: 0.5, method: "DELETE", path: "/group_types/{group_types}", ...ofAdmins },
  { weight: 1, method: "GET", path: "/group_types", query: oneOf("", "is_public=None", "is_public=False") },
  { weight: 1, method: "GET", path: "/group_types/{group_types}" },
  ...specsOf("/group_types/{group_types}/group_specs", "group_specs", oneOf<unknown>({ a: "1" }, { b: "2" }, {})),
];
