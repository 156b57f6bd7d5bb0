import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { flag, id, integer, nullable, oneOf, type RecordOf, text, time, uuid } from "../../records/field.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const SECURITY_GROUP = {
  id,
  uuid,
  projectId: text(),
  name: text(),
  description: text(),
  stateful: flag,
  revision: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
  updatedAt: time,
};

const RULE = {
  id,
  uuid,
  groupUuid: uuid,
  projectId: text(),
  direction: oneOf(["ingress", "egress"]),
  ethertype: oneOf(["IPv4", "IPv6"]),
  /** A name, or a number as a string; null: any. */
  protocol: nullable(text()),
  /** For ICMP, the type. */
  portMin: nullable(integer(0, 65_535)),
  portMax: nullable(integer(0, 65_535)),
  remotePrefix: nullable(text()),
  remoteGroup: nullable(uuid),
  description: text(),
  createdAt: time,
};

export type SecurityGroup = RecordOf<typeof SECURITY_GROUP>;
export type SecurityGroupRule = RecordOf<typeof RULE>;
export type NewRule = Omit<SecurityGroupRule, "id" | "uuid" | "createdAt">;

const GROUPS = tableOf("security_groups", SECURITY_GROUP);
const RULES = tableOf("security_group_rules", RULE);

/** The name of the group that each project has from its first use of the network. */
export const DEFAULT_GROUP = "default";

const ANY: Omit<NewRule, "groupUuid" | "projectId" | "direction" | "ethertype"> = {
  protocol: null,
  portMin: null,
  portMax: null,
  remotePrefix: null,
  remoteGroup: null,
  description: "",
};

/**
 * Tables `security_groups` and `security_group_rules`. A rule is deleted with its own group, and with its remote group.
 */
export function createSecurityGroupTables({ sql, clock, random }: StoreContext) {
  const groups = new Table(sql, GROUPS);
  const rules = new Table(sql, RULES);

  return {
    get: (uuid: string): SecurityGroup | null => groups.one("uuid = ?", uuid),
    /** @param projectId absent: all projects */
    list: (projectId?: string): readonly SecurityGroup[] =>
      projectId === undefined ? groups.many("1 ORDER BY id") : groups.many("project_id = ? ORDER BY id", projectId),
    /** Returns the groups with a name; it need not be unique. */
    named: (projectId: string, name: string): readonly SecurityGroup[] =>
      groups.many("project_id = ? AND name = ? ORDER BY id", projectId, name),
    count: (projectId: string): number => count("security_groups", projectId),
    /** Returns the project's default group; creates it at first use. */
    ensureDefault(projectId: string): SecurityGroup {
      const found = groups.one("project_id = ? AND name = 'default'", projectId);
      return found ?? create({ projectId, name: DEFAULT_GROUP, description: "Default security group" });
    },
    create,
    /** Updates a group. Each change of the group or its rules increments its revision. */
    update(group: SecurityGroup, changes: Partial<Pick<SecurityGroup, "name" | "description" | "stateful">>): void {
      const updated = { ...changes, revision: group.revision + 1, updatedAt: clock.now() };
      groups.update(group.id, updated);
    },
    /** @throws {SecurityGroupInUse} */
    destroy: (uuid: string): void =>
      sql.transaction(() => {
        const used = "SELECT 1 FROM ports, json_each(ports.security_groups) AS used WHERE used.value = ? LIMIT 1";
        if (sql.get(used, uuid) !== undefined) {
          throw new ConductorError("SecurityGroupInUse", `Security Group ${uuid} in use.`);
        }
        sql.execute("DELETE FROM security_groups WHERE uuid = ?", uuid);
      }),
    rule: (uuid: string): SecurityGroupRule | null => rules.one("uuid = ?", uuid),
    rulesOf: (groupUuid: string): readonly SecurityGroupRule[] => rules.many("group_uuid = ? ORDER BY id", groupUuid),
    /** @param projectId absent: all projects */
    rules: (projectId?: string): readonly SecurityGroupRule[] =>
      projectId === undefined ? rules.many("1 ORDER BY id") : rules.many("project_id = ? ORDER BY id", projectId),
    countRules: (projectId: string): number => count("security_group_rules", projectId),
    addRule,
    destroyRule: (uuid: string): void => sql.execute("DELETE FROM security_group_rules WHERE uuid = ?", uuid),
  };

  /**
   * Creates a group with the default rules.
   * @throws {SecurityGroupDefaultAlreadyExists}
   */
  function create(
    attributes: Pick<SecurityGroup, "projectId" | "name" | "description"> & { readonly stateful?: boolean },
  ) {
    return sql.transaction((): SecurityGroup => {
      const now = clock.now();
      const values = { ...attributes, stateful: attributes.stateful ?? true, uuid: random.uuid() };
      const { uuid: groupUuid } = values;
      const times = { revision: 1, createdAt: now, updatedAt: now };
      try {
        const group = { ...values, ...times, id: groups.insert({ ...values, ...times }) };
        for (const ethertype of ["IPv4", "IPv6"] as const) {
          const rule = { ...ANY, groupUuid, projectId: attributes.projectId, ethertype };
          addRule({ ...rule, direction: "egress" });
          if (attributes.name === DEFAULT_GROUP) {
            addRule({ ...rule, direction: "ingress", remoteGroup: groupUuid });
          }
        }
        return group;
      } catch (error) {
        if (isConductorError(error, "DuplicateRecord")) {
          throw new ConductorError("SecurityGroupDefaultAlreadyExists", "Default security group already exists.");
        }
        throw error;
      }
    });
  }

  function addRule(newRule: NewRule): SecurityGroupRule {
    const rule = { ...newRule, uuid: random.uuid(), createdAt: clock.now() };
    return { ...rule, id: rules.insert(rule) };
  }

  function count(table: "security_groups" | "security_group_rules", projectId: string): number {
    return sql.number(`SELECT count(*) FROM ${table} WHERE project_id = ?`, projectId);
  }
}
