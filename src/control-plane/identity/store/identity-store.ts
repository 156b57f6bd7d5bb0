import type { Sql, SqlRow } from "../../database/sql.js";
import type { RecordIn } from "./identity-resource.js";
import { IdentityTable, NamedTable, PairTable } from "./record-tables.js";
import {
  ACCESS_RULES,
  APPLICATION_CREDENTIALS,
  CONSUMERS,
  CREDENTIALS,
  DOMAIN_CONFIGS,
  ENDPOINT_GROUPS,
  ENDPOINTS,
  GROUPS,
  LIMITS,
  POLICIES,
  PROJECTS,
  type Project,
  REGIONS,
  REGISTERED_LIMITS,
  ROLES,
  SERVICES,
  USERS,
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
  readonly users: NamedTable<RecordIn<typeof USERS>>;
  readonly groups: NamedTable<RecordIn<typeof GROUPS>>;
  readonly roles: NamedTable<RecordIn<typeof ROLES>>;
  readonly services: IdentityTable<RecordIn<typeof SERVICES>>;
  readonly endpoints: IdentityTable<RecordIn<typeof ENDPOINTS>>;
  readonly regions: IdentityTable<RecordIn<typeof REGIONS>>;
  readonly endpointGroups: IdentityTable<RecordIn<typeof ENDPOINT_GROUPS>>;
  readonly credentials: IdentityTable<RecordIn<typeof CREDENTIALS>>;
  readonly policies: IdentityTable<RecordIn<typeof POLICIES>>;
  readonly consumers: IdentityTable<RecordIn<typeof CONSUMERS>>;
  readonly applicationCredentials: IdentityTable<RecordIn<typeof APPLICATION_CREDENTIALS>>;
  readonly accessRules: IdentityTable<RecordIn<typeof ACCESS_RULES>>;
  readonly domainConfigs: IdentityTable<RecordIn<typeof DOMAIN_CONFIGS>>;
  readonly registeredLimits: IdentityTable<RecordIn<typeof REGISTERED_LIMITS>>;
  readonly limits: IdentityTable<RecordIn<typeof LIMITS>>;
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
    this.projects = new NamedTable(sql, PROJECTS, changed);
    this.users = new NamedTable(sql, USERS, changed);
    this.groups = new NamedTable(sql, GROUPS, changed);
    this.roles = new NamedTable(sql, ROLES, changed);
    this.services = new IdentityTable(sql, SERVICES, changed);
    this.endpoints = new IdentityTable(sql, ENDPOINTS, changed);
    this.regions = new IdentityTable(sql, REGIONS, changed);
    this.endpointGroups = new IdentityTable(sql, ENDPOINT_GROUPS, changed);
    this.credentials = new IdentityTable(sql, CREDENTIALS, changed);
    this.policies = new IdentityTable(sql, POLICIES, changed);
    this.consumers = new IdentityTable(sql, CONSUMERS, changed);
    this.applicationCredentials = new IdentityTable(sql, APPLICATION_CREDENTIALS, changed);
    this.accessRules = new IdentityTable(sql, ACCESS_RULES, changed);
    this.domainConfigs = new IdentityTable(sql, DOMAIN_CONFIGS, changed);
    this.registeredLimits = new IdentityTable(sql, REGISTERED_LIMITS, changed);
    this.limits = new IdentityTable(sql, LIMITS, changed);
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
    for (const record of table.findBy({ user_id: id })) {
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
  for (const credential of store.applicationCredentials.findBy({ project_id: id })) {
    removeApplicationCredential(store, credential.id);
  }
  for (const credential of store.credentials.findBy({ project_id: id })) {
    store.credentials.delete(credential.id);
  }
  for (const limit of [...store.limits.findBy({ project_id: id }), ...store.limits.findBy({ domain_id: id })]) {
    store.limits.delete(limit.id);
  }
  for (const { default_project_id: _, ...user } of store.users.findBy({ default_project_id: id })) {
    store.users.update(user);
  }
  store.projects.delete(id);
  store.sql.run("DELETE FROM identity_tokens WHERE project_id = ?", id);
  store.sql.run("DELETE FROM identity_from_file WHERE id = ?", id);
}

/** Removes a domain and all its records. */
export function removeDomain(store: IdentityStore, id: string): void {
  for (const project of store.projects.findBy({ domain_id: id })) {
    removeProject(store, project.id);
  }
  for (const user of store.users.findBy({ domain_id: id })) {
    removeUser(store, user.id);
  }
  for (const group of store.groups.findBy({ domain_id: id })) {
    removeGroup(store, group.id);
  }
  for (const role of store.roles.findBy({ domain_id: id })) {
    removeRole(store, role.id);
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
    for (const user of store.users.findBy({ domain_id: id })) {
      endTokens(store, "user", user.id);
    }
    for (const project of store.projects.findBy({ domain_id: id })) {
      endTokens(store, "project", project.id);
    }
  }
}
