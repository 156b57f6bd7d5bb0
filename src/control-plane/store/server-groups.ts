import { FINAL_MIGRATION_STATUSES, SERVER_GROUP, type ServerGroup } from "../../records/index.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const GROUPS = tableOf("server_groups", SERVER_GROUP);

/** A member of a group, with its host and the hosts of its moves. */
export interface MemberPlaces {
  readonly instanceUuid: string;
  /** The member's host; null before it has one, or after it has left it. */
  readonly host: string | null;
  /** An operation is in progress, so the member may be moving to a host that its row does not contain yet. */
  readonly underWay: boolean;
  /** Source and destination of its unfinished moves, including unconfirmed resizes. */
  readonly moves: readonly string[];
}

/** The members that users see; the scheduler counts `places`. */
const ALIVE = `(
  EXISTS (SELECT 1 FROM instances WHERE uuid = instance_uuid AND deleted = 0 AND vm_state <> 'soft-delete')
  OR EXISTS (SELECT 1 FROM build_requests WHERE build_requests.instance_uuid = server_group_members.instance_uuid)
)`;

const MEMBERS = `
SELECT member.instance_uuid, host, CASE
  WHEN instances.id IS NULL
  THEN EXISTS (SELECT 1 FROM build_requests WHERE build_requests.instance_uuid = member.instance_uuid)
  ELSE task_state IS NOT NULL OR vm_state = 'building'
END
FROM server_group_members AS member LEFT JOIN instances ON uuid = member.instance_uuid AND deleted = 0
WHERE group_id = ? ORDER BY member.id`;

const MOVES = `
SELECT member.instance_uuid, source_compute, dest_compute
FROM server_group_members AS member JOIN migrations ON migrations.instance_uuid = member.instance_uuid
WHERE group_id = ? AND deleted = 0 AND status NOT IN (SELECT value FROM json_each(?))`;

/**
 * Tables `server_groups` and `server_group_members` (spec 6.9). Rows are deleted permanently; a member is deleted with
 * its instance.
 */
export function createServerGroupTables({ sql, clock, random }: StoreContext) {
  const table = new Table(sql, GROUPS);

  return {
    get: (uuid: string): ServerGroup | null => table.one("uuid = ?", uuid),
    ofInstance: (instanceUuid: string): ServerGroup | null =>
      table.one("id = (SELECT group_id FROM server_group_members WHERE instance_uuid = ?)", instanceUuid),
    /**
     * Returns a page of groups by age.
     * @param projectId undefined: all projects
     */
    list(projectId: string | undefined, page: { readonly offset: number; readonly limit: number }): ServerGroup[] {
      const { offset, limit } = page;
      const order = "ORDER BY id LIMIT ? OFFSET ?";
      return projectId === undefined
        ? table.many(`1 ${order}`, limit, offset)
        : table.many(`project_id = ? ${order}`, projectId, limit, offset);
    },
    create: (attributes: Omit<ServerGroup, "id" | "uuid" | "createdAt">): ServerGroup =>
      sql.transaction(() => {
        const group = { ...attributes, uuid: random.uuid(), createdAt: clock.now() };
        return { ...group, id: table.insert(group) };
      }),
    /** Returns false if it did not exist. Its members remain where they are, without the policy. */
    destroy: (uuid: string): boolean => sql.run("DELETE FROM server_groups WHERE uuid = ?", uuid).changes > 0,
    addMember: (groupId: number, instanceUuid: string, userId: string): void =>
      sql.execute(
        "INSERT INTO server_group_members (group_id, instance_uuid, user_id) VALUES (?, ?, ?)",
        groupId,
        instanceUuid,
        userId,
      ),
    removeMember: (instanceUuid: string): void =>
      sql.execute("DELETE FROM server_group_members WHERE instance_uuid = ?", instanceUuid),
    /** @param userId null: all users of the project */
    count: (projectId: string, userId: string | null): number =>
      sql.number(
        "SELECT count(*) FROM server_groups WHERE project_id = ?1 AND (?2 IS NULL OR user_id = ?2)",
        projectId,
        userId,
      ),
    countMembers: (groupId: number, userId: string): number =>
      sql.number(
        `SELECT count(*) FROM server_group_members WHERE group_id = ? AND user_id = ? AND ${ALIVE}`,
        groupId,
        userId,
      ),
    /** Returns the members that users see, by group id, in the order in which they were added. */
    members(groupIds: readonly number[]): ReadonlyMap<number, readonly string[]> {
      const found = new Map<number, string[]>(groupIds.map((id) => [id, []]));
      for (const [groupId, instanceUuid] of sql.all(
        `SELECT group_id, instance_uuid FROM server_group_members
          WHERE group_id IN (SELECT value FROM json_each(?)) AND ${ALIVE} ORDER BY id`,
        JSON.stringify(groupIds),
      )) {
        found.get(Number(groupId))?.push(String(instanceUuid));
      }
      return found;
    },
    /** Returns the hosts of each member, for the scheduler and for the late check of the policy. */
    places(groupId: number): readonly MemberPlaces[] {
      const moves = new Map<string, string[]>();
      for (const [instanceUuid, source, destination] of sql.all(MOVES, groupId, FINAL)) {
        const hosts = moves.get(String(instanceUuid)) ?? [];
        hosts.push(...[source, destination].filter((host) => typeof host === "string"));
        moves.set(String(instanceUuid), hosts);
      }
      return sql.all(MEMBERS, groupId).map(([instanceUuid, host, underWay]) => ({
        instanceUuid: String(instanceUuid),
        host: typeof host === "string" ? host : null,
        underWay: underWay === 1,
        moves: moves.get(String(instanceUuid)) ?? [],
      }));
    },
  };
}

const FINAL = JSON.stringify(FINAL_MIGRATION_STATUSES);
