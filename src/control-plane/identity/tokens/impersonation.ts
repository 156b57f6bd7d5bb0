import type { Impersonation, RecordedCaller } from "../../../conductor-client/methods/cluster.js";
import { effectiveRoles, type GrantScope, SYSTEM } from "../effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import { isSameName } from "../store/record-tables.js";
import { type ApplicationCredential, newProject, type Project, type User } from "../store/records.js";
import { type LiveToken, liveToken } from "./live-tokens.js";
import type { TokenStore } from "./token-store.js";

/** Describes a token's user to a cluster that does not know the user. */
export function callerOf(store: IdentityStore, live: LiveToken): RecordedCaller {
  const { record, user, domain, target, targetDomain, roles } = live;
  const credential = store.applicationCredentials.get(record.applicationCredentialId ?? "");
  return {
    user: { ...named(user), domain: named(domain) },
    project: target && record.domainId === null ? { ...named(target), domain: named(targetDomain ?? target) } : null,
    domain: target && record.domainId !== null ? named(target) : null,
    system: record.system,
    roles: roles.map(({ name }) => name),
    applicationCredential: credential
      ? {
          ...named(credential),
          unrestricted: credential.unrestricted,
          accessRules: credential.access_rules.map(({ service, method, path }) => ({ service, method, path })),
        }
      : null,
  };
}

const named = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, name });

/** Finds users by the names that they have in another cluster, and creates missing ones. */
export class Impersonations {
  readonly #store: IdentityStore;
  readonly #tokens: TokenStore;
  readonly #newId: () => string;

  constructor(store: IdentityStore, tokens: TokenStore, newId: () => string) {
    this.#store = store;
    this.#tokens = tokens;
    this.#newId = newId;
  }

  /** @param placing adds the role `admin` to the token */
  impersonate(caller: RecordedCaller, placing: boolean): Impersonation {
    return this.#store.sql.transaction(() => {
      const made: string[] = [];
      const user = this.#user(caller.user, made);
      const project = caller.project && this.#project(caller.project, made);
      const domain = caller.domain && this.#domain(caller.domain, made);
      const scope = scopeOf(caller, project, domain);
      const roles = scope === undefined ? [] : this.#roles(user, scope, caller.roles, made);
      const recordedCredential = caller.applicationCredential;
      const credential =
        recordedCredential && project && this.#credential(recordedCredential, user, project, roles, made);
      const { token, record } = this.#tokens.issue(
        user.id,
        { projectId: project?.id ?? null, domainId: domain?.id ?? null, system: caller.system },
        [credential ? "application_credential" : "password"],
        {
          ...(credential ? { applicationCredentialId: credential.id } : {}),
          ...(placing ? { moreRoles: ["admin"] } : {}),
        },
      );
      const isLive = liveToken(this.#store, record) !== undefined;
      if (!isLive) {
        this.#tokens.revoke(token);
      }
      return {
        token: isLive ? token : null,
        made,
        caller: {
          ...caller,
          user: { ...caller.user, id: user.id },
          project: caller.project && project && { ...caller.project, id: project.id },
          domain: caller.domain && domain && { ...caller.domain, id: domain.id },
          applicationCredential: recordedCredential && credential && { ...recordedCredential, id: credential.id },
        },
      };
    });
  }

  #domain({ id, name }: NonNullable<RecordedCaller["domain"]>, made: string[]): Project {
    const { projects } = this.#store;
    const found = projects.named(name, null);
    if (found?.is_domain) {
      return found;
    }
    made.push(`domain ${name}`);
    const domain = { domain_id: null, parent_id: null, is_domain: true };
    return projects.insert(newProject(this.#freeId(id, projects), name, domain));
  }

  #user({ id, name, domain }: RecordedCaller["user"], made: string[]): User {
    const { users } = this.#store;
    const own = this.#domain(domain, made).id;
    const found = users.named(name, own);
    if (found) {
      return found;
    }
    made.push(`user ${name}`);
    return users.insert({ id: this.#freeId(id, users), name, domain_id: own, enabled: true, options: {} });
  }

  #project({ id, name, domain }: NonNullable<RecordedCaller["project"]>, made: string[]): Project {
    const { projects } = this.#store;
    const own = this.#domain(domain, made).id;
    const found = projects.named(name, own);
    if (found) {
      return found;
    }
    made.push(`project ${name}`);
    return projects.insert(newProject(this.#freeId(id, projects), name, { domain_id: own }));
  }

  /** Grants the user the roles that they lack in the scope. @returns ids of the requested roles */
  #roles(user: User, scope: GrantScope, names: readonly string[], made: string[]): readonly string[] {
    const { roles, grants } = this.#store;
    const has = new Set(effectiveRoles(this.#store, user.id, scope).map(({ id }) => id));
    return names.map((name) => {
      const role =
        roles.named(name, null) ??
        roles.insert({ id: this.#newId(), name, domain_id: null, description: null, options: {} });
      if (!has.has(role.id)) {
        made.push(`role ${name} of ${user.name}`);
        grants.add({ actor: "user", actorId: user.id, ...scope, roleId: role.id, inherited: false });
      }
      return role.id;
    });
  }

  #credential(
    { id, name, unrestricted, accessRules }: NonNullable<RecordedCaller["applicationCredential"]>,
    user: User,
    project: Project,
    roles: readonly string[],
    made: string[],
  ): ApplicationCredential {
    const { applicationCredentials, accessRules: rules } = this.#store;
    const found = applicationCredentials.findBy({ user_id: user.id }).find((each) => isSameName(each.name, name));
    if (found) {
      return found;
    }
    made.push(`application credential ${name} of ${user.name}`);
    return applicationCredentials.insert({
      id: this.#freeId(id, applicationCredentials),
      name,
      user_id: user.id,
      description: null,
      project_id: project.id,
      roles,
      unrestricted,
      expires: null,
      expires_at: null,
      access_rules: accessRules.map((rule) => rules.insert({ ...rule, id: this.#newId(), user_id: user.id })),
    });
  }

  /** Returns the id from the other cluster, or a new one if a record of this cluster already has it. */
  #freeId(id: string, table: { get(id: string): unknown }): string {
    return table.get(id) === undefined ? id : this.#newId();
  }
}

function scopeOf({ system }: RecordedCaller, project: Project | null, domain: Project | null): GrantScope | undefined {
  if (project) {
    return { target: "project", targetId: project.id };
  }
  if (domain) {
    return { target: "domain", targetId: domain.id };
  }
  return system ? SYSTEM : undefined;
}
