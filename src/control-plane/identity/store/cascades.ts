import type { IdentityStore } from "./identity-store.js";

/** Removes a user, with what lets them in and what is theirs. */
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

/** What other services keep of a project stays with its id. */
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

/** Removes a domain with all that is in it. */
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

/** Ends the tokens of a user, a project or a domain that is disabled: they stay ended when it is enabled again. */
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
