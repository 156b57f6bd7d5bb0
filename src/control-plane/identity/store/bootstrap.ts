import type { Digests } from "../../../runtime/cryptography.js";
import { applySchema } from "../../database/schema-steps.js";
import type { Sql } from "../../database/sql.js";
import type { StoredRecord } from "./identity-resource.js";
import { IDENTITY_SCHEMA } from "./identity-schema.js";
import { IdentityStore } from "./identity-store.js";
import { type NamedTable, nameKey } from "./record-tables.js";
import { DEFAULT_DOMAIN, newProject, stableId } from "./records.js";
import { SeededIdentityStore } from "./seeded-identities.js";

export const REGION = "RegionOne";

/** Users of every cluster that log in interactively. @internal for tests */
export type LoginUser = "admin" | "demo";
export type ServiceUser = "nova" | "placement";

const PROJECTS = { admin: "Bootstrap project for initializing the cloud.", demo: "", service: "" };
const ROLES = ["reader", "member", "manager", "admin", "service"] as const;
const IMPLIED = [
  ["admin", "manager"],
  ["manager", "member"],
  ["member", "reader"],
] as const;

/** Roles by user and project; {@link SYSTEM} is the entire deployment. */
const GRANTS: Readonly<Record<LoginUser | ServiceUser, Readonly<Record<string, readonly (typeof ROLES)[number][]>>>> = {
  admin: { admin: ["reader", "member", "admin"], system: ["reader", "member", "admin"] },
  demo: { demo: ["reader", "member"] },
  nova: { service: ["admin", "service"] },
  placement: { service: ["admin", "service"] },
};
const SYSTEM = "system";

/** Migrates the tables and adds the records that every cluster has. */
export function openIdentityStore(sql: Sql, digests: Pick<Digests, "sha256">, now: number): IdentityStore {
  applySchema(sql, "identity", IDENTITY_SCHEMA, now);
  const store = new IdentityStore(sql);
  sql.transaction(() => {
    for (const table of [store.projects, store.users, store.groups, store.roles]) {
      fillNameKeys(sql, table.name);
    }
    ensureOwn(store, digests);
    migrateSeededIdentities(store, digests);
  });
  return store;
}

/**
 * Adds keys to records of an earlier release, whose names were case-sensitive. If several records have the same key,
 * the oldest one gets it. The others remain without a key and are found by their exact names.
 */
function fillNameKeys(sql: Sql, table: string): void {
  const rows = sql.all(`SELECT id, json_extract(body, '$.name') FROM ${table} WHERE name_key IS NULL ORDER BY rowid`);
  for (const [id = null, name] of rows) {
    sql.run(`UPDATE OR IGNORE ${table} SET name_key = ? WHERE id = ?`, nameKey(String(name)), id);
  }
}

/** Restores missing built-in accounts; the services and `clouds.yaml` need them. */
function ensureOwn(store: IdentityStore, digests: Pick<Digests, "sha256">): void {
  const idOf = (kind: string, name: string) => stableId(digests, `${kind}/${name}`);
  if (!store.projects.get(DEFAULT_DOMAIN)) {
    const domain = { domain_id: null, parent_id: null, is_domain: true, description: "The default domain" };
    store.projects.insert(newProject(DEFAULT_DOMAIN, "Default", domain));
  }
  const roleId = (name: string) => ownId(store.roles, idOf("role", name), name, null);
  for (const name of ROLES.filter((role) => !store.roles.get(idOf("role", role)))) {
    if (store.roles.named(name, null) === undefined) {
      store.roles.insert({ id: idOf("role", name), name, domain_id: null, description: null, options: {} });
    }
    for (const [prior, implied] of IMPLIED.filter((pair) => pair.some((role) => role === name))) {
      store.impliedRoles.add(roleId(prior), roleId(implied));
    }
    if (name === "manager") {
      // Earlier releases, without the role manager, stored admin implies member; now admin implies it through manager.
      store.impliedRoles.remove(idOf("role", "admin"), idOf("role", "member"));
    }
  }
  if (!store.regions.get(REGION)) {
    store.regions.insert({ id: REGION, description: "", parent_region_id: null });
  }
  const projectId = (name: string) => ownId(store.projects, idOf("project", name), name, DEFAULT_DOMAIN);
  for (const [name, description] of Object.entries(PROJECTS)) {
    if (!store.projects.get(projectId(name))) {
      store.projects.insert(newProject(idOf("project", name), name, { description }));
    }
  }
  for (const [name, targets] of Object.entries(GRANTS)) {
    if (store.users.get(idOf("user", name))) {
      continue;
    }
    const id = ownId(store.users, idOf("user", name), name, DEFAULT_DOMAIN);
    if (!store.users.get(id)) {
      store.users.insert({ id, name, domain_id: DEFAULT_DOMAIN, enabled: true, options: {} });
    }
    for (const [target, roles] of Object.entries(targets)) {
      for (const role of roles) {
        store.grants.add({
          actor: "user",
          actorId: id,
          ...(target === SYSTEM
            ? { target: "system", targetId: SYSTEM }
            : { target: "project", targetId: projectId(target) }),
          roleId: roleId(role),
          inherited: false,
        });
      }
    }
  }
}

/**
 * Returns the id of a built-in account. If a client deleted the account and created another record with the same name,
 * that record takes its place.
 */
export function ownId<T extends StoredRecord & { readonly name: string }>(
  table: NamedTable<T>,
  stableId: string,
  name: string,
  domainId: string | null,
): string {
  return table.get(stableId)?.id ?? table.named(name, domainId)?.id ?? stableId;
}

/** Migrates the identities of a cluster file from tables of an earlier release. */
function migrateSeededIdentities(store: IdentityStore, digests: Pick<Digests, "sha256">): void {
  const { sql } = store;
  const identities = new SeededIdentityStore(store, digests);
  for (const [name, description] of sql.all("SELECT name, description FROM identity_projects_to_move ORDER BY rowid")) {
    identities.putProject({ name: String(name), description: String(description) });
  }
  for (const [name, roles] of sql.all("SELECT name, roles FROM identity_users_to_move ORDER BY rowid")) {
    identities.putUser({ name: String(name), roles: JSON.parse(String(roles)) });
  }
  sql.run("DELETE FROM identity_projects_to_move");
  sql.run("DELETE FROM identity_users_to_move");
}
