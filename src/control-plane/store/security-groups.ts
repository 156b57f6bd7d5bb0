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
export class SecurityGroups {
  readonly #context: StoreContext;
  readonly #groups: Table<SecurityGroup>;
  readonly #rules: Table<SecurityGroupRule>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#groups = new Table(context.sql, GROUPS);
    this.#rules = new Table(context.sql, RULES);
  }

  get(uuid: string): SecurityGroup | null {
    return this.#groups.one("uuid = ?", uuid);
  }

  /** @param projectId absent: all projects */
  list(projectId?: string): readonly SecurityGroup[] {
    return projectId === undefined
      ? this.#groups.many("1 ORDER BY id")
      : this.#groups.many("project_id = ? ORDER BY id", projectId);
  }

  /** Returns the groups with a name; it need not be unique. */
  named(projectId: string, name: string): readonly SecurityGroup[] {
    return this.#groups.many("project_id = ? AND name = ? ORDER BY id", projectId, name);
  }

  count(projectId: string): number {
    return this.#count("security_groups", projectId);
  }

  /** Returns the project's default group; creates it at first use. */
  ensureDefault(projectId: string): SecurityGroup {
    const found = this.#groups.one("project_id = ? AND name = 'default'", projectId);
    return found ?? this.create({ projectId, name: DEFAULT_GROUP, description: "Default security group" });
  }

  /**
   * Creates a group with the default rules.
   * @throws {SecurityGroupDefaultAlreadyExists}
   */
  create(attributes: Pick<SecurityGroup, "projectId" | "name" | "description"> & { readonly stateful?: boolean }) {
    const { sql, clock, random } = this.#context;
    return sql.transaction((): SecurityGroup => {
      const now = clock.now();
      const values = { ...attributes, stateful: attributes.stateful ?? true, uuid: random.uuid() };
      const { uuid: groupUuid } = values;
      const times = { revision: 1, createdAt: now, updatedAt: now };
      try {
        const group = { ...values, ...times, id: this.#groups.insert({ ...values, ...times }) };
        for (const ethertype of ["IPv4", "IPv6"] as const) {
          const rule = { ...ANY, groupUuid, projectId: attributes.projectId, ethertype };
          this.addRule({ ...rule, direction: "egress" });
          if (attributes.name === DEFAULT_GROUP) {
            this.addRule({ ...rule, direction: "ingress", remoteGroup: groupUuid });
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

  /** Updates a group. Each change of the group or its rules increments its revision. */
  update(group: SecurityGroup, changes: Partial<Pick<SecurityGroup, "name" | "description" | "stateful">>): void {
    const updated = { ...changes, revision: group.revision + 1, updatedAt: this.#context.clock.now() };
    this.#groups.update(group.id, updated);
  }

  /** @throws {SecurityGroupInUse} */
  destroy(uuid: string): void {
    const { sql } = this.#context;
    sql.transaction(() => {
      const used = "SELECT 1 FROM ports, json_each(ports.security_groups) AS used WHERE used.value = ? LIMIT 1";
      if (sql.get(used, uuid) !== undefined) {
        throw new ConductorError("SecurityGroupInUse", `Security Group ${uuid} in use.`);
      }
      sql.execute("DELETE FROM security_groups WHERE uuid = ?", uuid);
    });
  }

  rule(uuid: string): SecurityGroupRule | null {
    return this.#rules.one("uuid = ?", uuid);
  }

  rulesOf(groupUuid: string): readonly SecurityGroupRule[] {
    return this.#rules.many("group_uuid = ? ORDER BY id", groupUuid);
  }

  /** @param projectId absent: all projects */
  rules(projectId?: string): readonly SecurityGroupRule[] {
    return projectId === undefined
      ? this.#rules.many("1 ORDER BY id")
      : this.#rules.many("project_id = ? ORDER BY id", projectId);
  }

  countRules(projectId: string): number {
    return this.#count("security_group_rules", projectId);
  }

  addRule(newRule: NewRule): SecurityGroupRule {
    const { clock, random } = this.#context;
    const rule = { ...newRule, uuid: random.uuid(), createdAt: clock.now() };
    return { ...rule, id: this.#rules.insert(rule) };
  }

  destroyRule(uuid: string): void {
    this.#context.sql.execute("DELETE FROM security_group_rules WHERE uuid = ?", uuid);
  }

  #count(table: "security_groups" | "security_group_rules", projectId: string): number {
    const [count] = this.#context.sql.get(`SELECT count(*) FROM ${table} WHERE project_id = ?`, projectId) ?? [];
    return Number(count);
  }
}
