import { ADMINS, action, bool, idIn, name, type Operation, oneOf, reads, type Source, some } from "../operation.js";

const typeOfSource = (source: Source) => [source.random.chance(0.8) ? defaultTypeId(source) : idIn("types")(source)];

function defaultTypeId({ records }: Source): string {
  return records.of("types").find(({ attributes }) => attributes.name === "lvmdriver-1")?.id ?? "x";
}

function volumes(source: Source): string {
  const ids = [idIn("volumes")(source), ...(source.random.chance(0.2) ? [idIn("volumes")(source)] : [])];
  return ids.join(",");
}

/** Returns the id of a volume, mostly of the group of the path. */
function member(source: Source): unknown {
  const own = source.records.of("volumes").filter(({ attributes }) => attributes.group_id === source.record?.id);
  return own.length > 0 ? source.random.pick(own).id : idIn("volumes")(source);
}

/** Groups of volumes and their snapshots. */
export const GROUP_OPERATIONS: readonly Operation[] = [
  {
    weight: 4,
    method: "POST",
    path: "/groups",
    body: (source) => ({
      group: some({
        group_type: [0.98, idIn("group_types")],
        volume_types: [0.98, typeOfSource],
        name: [0.7, name],
        description: [0.2, oneOf("", "one")],
        availability_zone: [0.1, oneOf("nova")],
      })(source),
    }),
  },
  {
    weight: 4,
    method: "PUT",
    path: "/groups/{groups}",
    body: (source) => ({
      group: some({
        name: [0.4, name],
        description: [0.2, oneOf("two")],
        add_volumes: [0.6, volumes],
        remove_volumes: [0.2, member],
      })(source),
    }),
  },
  action(3, "groups", "delete", some({ "delete-volumes": [0.7, bool] })),
  action(1, "groups", "reset_status", some({ status: [0.98, oneOf("available", "error", "x")] }), { callers: ADMINS }),
  {
    weight: 1.5,
    method: "POST",
    path: "/groups/action",
    action: "create-from-src",
    body: (source) => ({
      "create-from-src": {
        ...(source.random.chance(0.5)
          ? { source_group_id: idIn("groups")(source) }
          : { group_snapshot_id: idIn("group_snapshots")(source) }),
        name: name(source),
      },
    }),
  },
  ...reads(3, "groups", {
    filters: { name: [0.1, name], list_volume: [0.3, oneOf("True", "0")] },
    sortKeys: ["name", "created_at"],
  }),
  {
    weight: 3,
    method: "POST",
    path: "/group_snapshots",
    body: (source) => ({
      group_snapshot: some({ group_id: [0.98, idIn("groups")], name: [0.7, name], description: [0.2, oneOf("one")] })(
        source,
      ),
    }),
  },
  { weight: 2, method: "DELETE", path: "/group_snapshots/{group_snapshots}" },
  action(0.7, "group_snapshots", "reset_status", some({ status: [0.98, oneOf("available", "error", "x")] }), {
    callers: ADMINS,
  }),
  ...reads(2, "group_snapshots", { filters: { group_id: [0.1, idIn("groups")] }, sortKeys: ["name", "created_at"] }),
];
