import type { Members } from "../../differential/known-records.js";
import {
  ADMINS,
  action,
  bool,
  IMAGES,
  idIn,
  metadata,
  metadataOperations,
  name,
  nameOrIdIn,
  type Operation,
  oneOf,
  reads,
  type Source,
  some,
} from "../operation.js";

const size = oneOf<unknown>(1, 1, 1, 2, 2, 3, "2", 0, "x", null);

const SOURCES = [
  ["snapshot_id", idIn("snapshots")],
  ["source_volid", idIn("volumes")],
  ["imageRef", oneOf(...IMAGES)],
  ["backup_id", idIn("backups")],
] as const;

const attributes = some({
  name: [0.8, name],
  description: [0.2, oneOf("", "one", "two")],
  metadata: [0.25, metadata],
  volume_type: [0.3, nameOrIdIn("types")],
  availability_zone: [0.1, oneOf("nova", "nova", "west", null)],
  multiattach: [0.03, bool],
  group_id: [0.05, idIn("groups")],
});

function newVolume(source: Source): Members {
  const { random } = source;
  const [key, value] = random.pick(SOURCES);
  const copy = random.chance(0.3) ? { [key]: value(source) } : {};
  const hasSize = Object.keys(copy).length === 0 ? random.chance(0.97) : random.chance(0.5);
  return { ...attributes(source), ...copy, ...(hasSize && { size: size(source) }) };
}

const STATUSES = ["available", "available", "error", "in-use", "creating", "deleting", "maintenance", "reserved"];

const status = oneOf<unknown>(
  ...STATUSES,
  "detaching",
  "attaching",
  "error_deleting",
  "error_extending",
  "bogus",
  "ERROR",
);

const change = some({
  name: [0.7, name],
  description: [0.3, oneOf("", "three", null)],
  metadata: [0.2, metadata],
  display_name: [0.1, name],
});

/** Returns an attribute of the last response with the record. */
const same = (attribute: string) => (source: Source) => source.record?.attributes[attribute] ?? "x";

const anyOf = (attribute: string) => (source: Source) =>
  source.records.pick(source.random, "volumes", source.caller)?.attributes[attribute] ?? "x";

export const VOLUME_OPERATIONS: readonly Operation[] = [
  { weight: 28, method: "POST", path: "/volumes", body: (source) => ({ volume: newVolume(source) }) },
  { weight: 5, method: "PUT", path: "/volumes/{volumes}", body: (source) => ({ volume: change(source) }) },
  {
    weight: 11,
    method: "DELETE",
    path: "/volumes/{volumes}",
    query: oneOf("", "", "", "", "cascade=true", "cascade=True", "force=true"),
  },
  ...reads(16, "volumes", {
    filters: {
      name: [0.1, anyOf("name")],
      "name~": [0.04, oneOf("n1", "N", "x")],
      status: [0.1, oneOf("available", "error", "in-use")],
      bootable: [0.05, oneOf("true", "false", "True", "0")],
      metadata: [0.06, oneOf("{'a': '1'}", "{'a':'2','b':'x'}", "x")],
      size: [0.04, oneOf("1", "2", "x")],
      availability_zone: [0.03, oneOf("nova", "west")],
      migration_status: [0.02, oneOf("None", "success")],
      created_at: [0.03, oneOf("gt:2020-01-01T00:00:00", "lt:2020-01-01T00:00:00", "x")],
      group_id: [0.02, idIn("groups")],
      host: [0.02, oneOf("devstack@lvmdriver-1#lvmdriver-1", "x")],
      consumes_quota: [0.02, oneOf("true", "false")],
      project_id: [0.03, oneOf("2".repeat(32), "3".repeat(32))],
      volume_type_id: [0.02, idIn("types")],
      user_id: [0.02, oneOf("x")],
    },
    sortKeys: ["name", "size", "status", "created_at", "updated_at", "display_name", "bogus"],
  }),
  { weight: 2, method: "GET", path: "/volumes/summary", query: oneOf("", "all_tenants=1") },
  { weight: 1, method: "GET", path: "/volumes/{volumes}/encryption" },
  { weight: 0.5, method: "GET", path: "/volumes/{volumes}/encryption/encryption_key_id" },
  ...metadataOperations(1, "volumes"),
  action(4, "volumes", "os-extend", some({ new_size: [0.98, oneOf<unknown>(2, 2, 3, 4, 1, "3", 0, "x")] })),
  action(
    3,
    "volumes",
    "os-retype",
    some({ new_type: [0.98, nameOrIdIn("types")], migration_policy: [0.5, oneOf("on-demand", "never", "x")] }),
  ),
  action(2, "volumes", "os-set_bootable", some({ bootable: [0.98, bool] })),
  action(2, "volumes", "os-update_readonly_flag", some({ readonly: [0.98, bool] })),
  action(
    2,
    "volumes",
    "os-volume_upload_image",
    some({
      image_name: [0.98, name],
      disk_format: [0.3, oneOf("raw", "qcow2", "vhd", "bogus")],
      container_format: [0.2, oneOf("bare", "ovf")],
      visibility: [0.3, oneOf("public", "private", "shared", "x")],
      protected: [0.1, bool],
      force: [0.3, bool],
    }),
  ),
  action(1.5, "volumes", "os-set_image_metadata", some({ metadata: [0.98, metadata] })),
  action(1, "volumes", "os-show_image_metadata"),
  action(1, "volumes", "os-unset_image_metadata", some({ key: [0.98, oneOf("a", "b", "image_id", "gone")] })),
  action(1, "volumes", "os-reimage", some({ image_id: [1, oneOf(...IMAGES)], reimage_reserved: [0.3, bool] })),
  action(2, "volumes", "revert", some({ snapshot_id: [0.98, idIn("snapshots")] })),
  action(
    4,
    "volumes",
    "os-reset_status",
    some({
      status: [0.9, status],
      attach_status: [0.15, oneOf("detached", "attached", "x")],
      migration_status: [0.1, oneOf("none", "error", "success", "migrating", "x")],
    }),
    { callers: ADMINS },
  ),
  action(1.5, "volumes", "os-force_delete", () => ({}), { callers: ADMINS }),
  action(
    1.5,
    "volumes",
    "os-migrate_volume",
    some({ host: [0.95, oneOf("devstack@lvmdriver-1#lvmdriver-1", "other@x#x")], lock_volume: [0.2, bool] }),
    { callers: ADMINS },
  ),
  action(0.5, "volumes", "os-unmanage", () => ({}), { callers: ADMINS }),
  {
    weight: 1,
    method: "POST",
    path: "/manageable_volumes",
    callers: ADMINS,
    body: (source) => ({
      volume: {
        host: source.random.pick(["devstack@lvmdriver-1#lvmdriver-1", "devstack@lvmdriver-1#lvmdriver-1", "x@y#z"]),
        ref: { "source-name": String(name(source)) },
        ...some({ name: [0.7, name], metadata: [0.2, metadata], bootable: [0.2, bool] })(source),
      },
    }),
  },
  { weight: 0.5, method: "GET", path: "/volumes/{volumes}/bogus", query: () => "" },
  { weight: 0.5, method: "PUT", path: "/volumes", body: (source) => ({ volume: { name: same("name")(source) } }) },
];
