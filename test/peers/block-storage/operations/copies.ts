import {
  ADMINS,
  action,
  bool,
  idIn,
  metadata,
  metadataOperations,
  name,
  type Operation,
  oneOf,
  reads,
  type Source,
  some,
} from "../operation.js";

/** Cinder's backup driver here saves no metadata of volumes, as others do: they have none. */
function volumeWithoutMetadata(source: Source): string {
  const id = String(idIn("volumes")(source));
  const known = source.records.get(id)?.attributes.metadata;
  return known && Object.keys(known).length > 0 ? String(idIn("backups")(source)) : id;
}

const snapshotFilters = {
  name: [0.1, name],
  status: [0.1, oneOf("available", "error")],
  volume_id: [0.12, idIn("volumes")],
  metadata: [0.04, oneOf("{'a': '1'}")],
} as const;

/** A transfer's secret is in the response to its creation only. */
function secretOf({ record, random }: Source): unknown {
  return random.chance(0.1) ? "wrong" : (record?.attributes.auth_key ?? "none");
}

/** Snapshots, backups and transfers of volumes. */
export const COPY_OPERATIONS: readonly Operation[] = [
  {
    weight: 12,
    method: "POST",
    path: "/snapshots",
    body: (source) => ({
      snapshot: some({
        volume_id: [0.99, idIn("volumes")],
        name: [0.7, name],
        description: [0.2, oneOf("", "one")],
        force: [0.3, bool],
        metadata: [0.2, metadata],
      })(source),
    }),
  },
  {
    weight: 2,
    method: "PUT",
    path: "/snapshots/{snapshots}",
    body: (source) => ({ snapshot: some({ name: [0.8, name], description: [0.4, oneOf("", "two", null)] })(source) }),
  },
  { weight: 6, method: "DELETE", path: "/snapshots/{snapshots}" },
  ...reads(7, "snapshots", {
    filters: snapshotFilters,
    sortKeys: ["name", "status", "created_at", "size", "display_name", "bogus"],
  }),
  ...metadataOperations(0.5, "snapshots"),
  action(2, "snapshots", "os-reset_status", some({ status: [0.98, oneOf("available", "error", "deleting", "x")] }), {
    callers: ADMINS,
  }),
  action(1, "snapshots", "os-force_delete", () => ({}), { callers: ADMINS }),
  action(0.5, "snapshots", "os-unmanage", () => ({}), { callers: ADMINS }),
  action(
    1,
    "snapshots",
    "os-update_snapshot_status",
    some({ status: [0.98, oneOf("available", "error", "creating")], progress: [0.3, oneOf("50%", "x", "100%")] }),
    { callers: ADMINS },
  ),
  {
    weight: 7,
    method: "POST",
    path: "/backups",
    body: (source) => ({
      backup: some({
        volume_id: [0.99, volumeWithoutMetadata],
        snapshot_id: [0.15, idIn("snapshots")],
        name: [0.7, name],
        description: [0.2, oneOf("", "one")],
        incremental: [0.3, bool],
        force: [0.3, bool],
        container: [0.1, oneOf("c1", "")],
        metadata: [0.15, metadata],
        availability_zone: [0.05, oneOf("nova")],
      })(source),
    }),
  },
  {
    weight: 1.5,
    method: "PUT",
    path: "/backups/{backups}",
    body: (source) => ({ backup: some({ name: [0.8, name], description: [0.4, oneOf("", "two")] })(source) }),
  },
  { weight: 3, method: "DELETE", path: "/backups/{backups}" },
  {
    weight: 3,
    method: "POST",
    path: "/backups/{backups}/restore",
    body: (source) => ({ restore: some({ volume_id: [0.6, idIn("volumes")], name: [0.3, name] })(source) }),
  },
  ...reads(5, "backups", {
    filters: { name: [0.1, name], status: [0.1, oneOf("available", "error")], volume_id: [0.1, idIn("volumes")] },
    sortKeys: ["name", "status", "created_at", "bogus"],
  }),
  { weight: 1, method: "GET", path: "/backups/{backups}/export_record", callers: ADMINS },
  {
    weight: 0.5,
    method: "POST",
    path: "/backups/import_record",
    callers: ADMINS,
    body: oneOf({ "backup-record": { backup_service: "x", backup_url: "x" } }),
  },
  action(1.5, "backups", "os-reset_status", some({ status: [0.98, oneOf("available", "error", "x")] }), {
    callers: ADMINS,
  }),
  action(0.5, "backups", "os-force_delete", () => ({}), { callers: ADMINS }),
  ...["volume-transfers", "os-volume-transfer"].flatMap((path): readonly Operation[] => [
    {
      weight: 2.5,
      method: "POST",
      path: `/${path}`,
      body: (source) => ({
        transfer: some({
          volume_id: [0.99, idIn("volumes")],
          name: [0.7, name],
          ...(path === "volume-transfers" && { no_snapshots: [0.3, bool] }),
        })(source),
      }),
    },
    {
      weight: 2.5,
      method: "POST",
      path: `/${path}/{transfers}/accept`,
      body: (source) => ({ accept: { auth_key: secretOf(source) } }),
    },
    { weight: 1, method: "DELETE", path: `/${path}/{transfers}` },
  ]),
  ...reads(2, "transfers", { path: "volume-transfers", sortKeys: ["name", "created_at"] }),
  ...reads(1, "transfers", { path: "os-volume-transfer" }),
];
