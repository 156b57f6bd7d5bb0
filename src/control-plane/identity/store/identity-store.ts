import type { Sql, SqlRow } from "../../database/sql.js";
import { NamedTable, PairTable, RecordTable } from "./record-tables.js";
import type {
  AccessRule,
  ApplicationCredential,
  Credential,
  DomainConfig,
  Endpoint,
  EndpointGroup,
  Group,
  Limit,
  PlainRecord,
  Project,
  Region,
  RegisteredLimit,
  Role,
  Service,
  User,
} from "./records.js";

export interface Grant {
  readonly actor: "user" | "group";
  readonly actorId: string;
  readonly target: "project" | "domain" | "system";
  /** `system` for the entire deployment. */
  readonly targetId: string;
  readonly roleId: string;
  /** The grant applies to the projects below the target, but not to the target itself. */
  readonly inherited: boolean;
}

type GrantValues = [string, string, string, string, string, number];

const COLUMNS = "actor, actor_id, target, target_id, role_id, inherited";

const SAME = "actor = ? AND actor_id = ? AND target = ? AND target_id = ? AND role_id = ? AND inherited = ?";

/** Role grants as they were assigned to users and groups. */
class GrantTable {
  readonly #sql: Sql;
  readonly #changed: () => void;

  constructor(sql: Sql, changed: () => void) {
    this.#sql = sql;
    this.#changed = changed;
  }

  all(): readonly Grant[] {
    return this.#sql.all(`SELECT ${COLUMNS} FROM identity_grants ORDER BY rowid`).map(toGrant);
  }

  of(actor: Grant["actor"], actorId: string): readonly Grant[] {
    const text = `SELECT ${COLUMNS} FROM identity_grants WHERE actor = ? AND actor_id = ? ORDER BY rowid`;
    return this.#sql.all(text, actor, actorId).map(toGrant);
  }

  has(grant: Grant): boolean {
    return this.#sql.get(`SELECT 1 FROM identity_grants WHERE ${SAME}`, ...values(grant)) !== undefined;
  }

  add(grant: Grant): void {
    this.#changed();
    this.#sql.run(`INSERT OR IGNORE INTO identity_grants (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`, ...values(grant));
  }

  remove(grant: Grant): void {
    this.#changed();
    this.#sql.run(`DELETE FROM identity_grants WHERE ${SAME}`, ...values(grant));
  }

  removeOf(actor: Grant["actor"], actorId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE actor = ? AND actor_id = ?", actor, actorId);
  }

  removeAt(targetId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE target <> 'system' AND target_id = ?", targetId);
  }

  removeRole(roleId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE role_id = ?", roleId);
  }
}

/** Identity's tables. No other component writes them while Identity runs. */
export class IdentityStore {
  readonly sql: Sql;
  readonly projects: NamedTable<Project>;
  readonly users: NamedTable<User>;
  readonly groups: NamedTable<Group>;
  readonly roles: NamedTable<Role>;
  readonly services: RecordTable<Service>;
  readonly endpoints: RecordTable<Endpoint>;
  readonly regions: RecordTable<Region>;
  readonly endpointGroups: RecordTable<EndpointGroup>;
  readonly credentials: RecordTable<Credential>;
  readonly policies: RecordTable<PlainRecord>;
  readonly consumers: RecordTable<PlainRecord>;
  readonly applicationCredentials: RecordTable<ApplicationCredential>;
  readonly accessRules: RecordTable<AccessRule>;
  readonly domainConfigs: RecordTable<DomainConfig>;
  readonly registeredLimits: RecordTable<RegisteredLimit>;
  readonly limits: RecordTable<Limit>;
  readonly grants: GrantTable;
  /** Users by group. */
  readonly members: PairTable;
  /** Implied roles by prior role. */
  readonly impliedRoles: PairTable;
  #changes = 0;

  /** @param sql database with migrated tables */
  constructor(sql: Sql) {
    this.sql = sql;
    const changed = () => {
      this.#changes += 1;
    };
    this.projects = new NamedTable(sql, "identity_projects", changed);
    this.users = new NamedTable(sql, "identity_users", changed);
    this.groups = new NamedTable(sql, "identity_groups", changed);
    this.roles = new NamedTable(sql, "identity_roles", changed);
    this.services = new RecordTable(sql, "identity_services", changed);
    this.endpoints = new RecordTable(sql, "identity_endpoints", changed);
    this.regions = new RecordTable(sql, "identity_regions", changed);
    this.endpointGroups = new RecordTable(sql, "identity_endpoint_groups", changed);
    this.credentials = new RecordTable(sql, "identity_credentials", changed);
    this.policies = new RecordTable(sql, "identity_policies", changed);
    this.consumers = new RecordTable(sql, "identity_consumers", changed);
    this.applicationCredentials = new RecordTable(sql, "identity_application_credentials", changed);
    this.accessRules = new RecordTable(sql, "identity_access_rules", changed);
    this.domainConfigs = new RecordTable(sql, "identity_domain_configs", changed);
    this.registeredLimits = new RecordTable(sql, "identity_registered_limits", changed);
    this.limits = new RecordTable(sql, "identity_limits", changed);
    this.grants = new GrantTable(sql, changed);
    this.members = new PairTable(sql, "identity_members", ["group_id", "user_id"], changed);
    this.impliedRoles = new PairTable(sql, "identity_implied_roles", ["prior_id", "implied_id"], changed);
  }

  /** Number of writes; cached results of an earlier number may be stale. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns a domain by its id. */
  domain(id: string): Project | undefined {
    const found = this.projects.get(id);
    return found?.is_domain ? found : undefined;
  }
}

function values({ actor, actorId, target, targetId, roleId, inherited }: Grant): GrantValues {
  return [actor, actorId, target, targetId, roleId, inherited ? 1 : 0];
}

function toGrant([actor, actorId, target, targetId, roleId, inherited]: SqlRow): Grant {
  return {
    actor: actor as Grant["actor"],
    actorId: String(actorId),
    target: target as Grant["target"],
    targetId: String(targetId),
    roleId: String(roleId),
    inherited: inherited === 1,
  };
}

/** Removes a user with their grants, memberships, credentials, password and tokens. */
export function removeUser(store: IdentityStore, id: string): void {
  store.grants.removeOf("user", id);
  store.members.removeAll(id);
  for (const table of [store.credentials, store.accessRules, store.applicationCredentials] as const) {
    for (const record of table.where("user_id", id)) {
      table.delete(record.id);
    }
  }
  store.users.delete(id);
  const { sql } = store;
  sql.run("DELETE FROM identity_passwords WHERE user_id = ?", id);
  sql.run("DELETE FROM identity_tokens WHERE user_id = ?", id);
  sql.run("DELETE FROM identity_from_file WHERE id = ?", id);
}

export function removeGroup(store: IdentityStore, id: string): void {
  store.grants.removeOf("group", id);
  store.members.removeAll(id);
  store.groups.delete(id);
}

/** Removes a project. Data of other services that refers to its id remains. */
export function removeProject(store: IdentityStore, id: string): void {
  store.grants.removeAt(id);
  for (const credential of store.applicationCredentials.list()) {
    if (credential.project_id === id) {
      removeApplicationCredential(store, credential.id);
    }
  }
  for (const credential of store.credentials.list()) {
    if (credential.project_id === id) {
      store.credentials.delete(credential.id);
    }
  }
  for (const limit of store.limits.list()) {
    if (limit.project_id === id || limit.domain_id === id) {
      store.limits.delete(limit.id);
    }
  }
  for (const user of store.users.list()) {
    if (user.default_project_id === id) {
      const { default_project_id: _, ...rest } = user;
      store.users.update(rest);
    }
  }
  store.projects.delete(id);
  store.sql.run("DELETE FROM identity_tokens WHERE project_id = ?", id);
  store.sql.run("DELETE FROM identity_from_file WHERE id = ?", id);
}

/** Removes a domain and all its records. */
export function removeDomain(store: IdentityStore, id: string): void {
  for (const project of store.projects.where("domain_id", id)) {
    removeProject(store, project.id);
  }
  for (const user of store.users.where("domain_id", id)) {
    removeUser(store, user.id);
  }
  for (const group of store.groups.where("domain_id", id)) {
    removeGroup(store, group.id);
  }
  for (const role of store.roles.list()) {
    if (role.domain_id === id) {
      removeRole(store, role.id);
    }
  }
  store.domainConfigs.delete(id);
  removeProject(store, id);
  store.sql.run("DELETE FROM identity_tokens WHERE domain_id = ?", id);
}

export function removeRole(store: IdentityStore, id: string): void {
  store.grants.removeRole(id);
  store.impliedRoles.removeAll(id);
  for (const credential of store.applicationCredentials.list()) {
    if (credential.roles.includes(id)) {
      removeApplicationCredential(store, credential.id);
    }
  }
  store.roles.delete(id);
}

export function removeApplicationCredential(store: IdentityStore, id: string): void {
  store.applicationCredentials.delete(id);
  store.sql.run("DELETE FROM identity_passwords WHERE user_id = ?", id);
  store.sql.run("DELETE FROM identity_tokens WHERE application_credential_id = ?", id);
}

/** Ends the tokens of a disabled user, project or domain. They stay invalid when it is enabled again. */
export function endTokens(store: IdentityStore, of: "user" | "project" | "domain", id: string): void {
  store.sql.run(`DELETE FROM identity_tokens WHERE ${of}_id = ?`, id);
  if (of === "domain") {
    for (const user of store.users.where("domain_id", id)) {
      endTokens(store, "user", user.id);
    }
    for (const project of store.projects.where("domain_id", id)) {
      endTokens(store, "project", project.id);
    }
  }
}
