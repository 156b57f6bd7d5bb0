import type { Grant, IdentityStore } from "./store/identity-store.js";
import type { Project, Role } from "./store/records.js";

/** A scope of tokens and of grants. */
export type GrantScope = Pick<Grant, "target" | "targetId">;

export const SYSTEM: GrantScope = { target: "system", targetId: "system" };

/** Returns a user's roles in a scope: direct grants, those of the user's groups, inherited and implied ones. */
export function effectiveRoles(store: IdentityStore, userId: string, scope: GrantScope): readonly Role[] {
  const grants = grantsOfUser(store, userId).filter((grant) => holdsAt(store, grant, scope));
  const ids = withImplied(
    store,
    grants.map(({ roleId }) => roleId),
  );
  // Roles of a domain count only for the roles that they imply.
  return store.roles.findBy({ id: [...ids], domain_id: null });
}

function grantsOfUser(store: IdentityStore, userId: string): readonly Grant[] {
  const groups = store.members.leftOf(userId);
  return [...store.grants.of("user", userId), ...groups.flatMap((group) => store.grants.of("group", group))];
}

/** Returns true if a grant applies to a scope, directly or by inheritance. */
function holdsAt(store: IdentityStore, grant: Grant, scope: GrantScope): boolean {
  if (!grant.inherited) {
    return grant.target === scope.target && grant.targetId === scope.targetId;
  }
  return scope.target === "project" && ancestors(store, scope.targetId).includes(grant.targetId);
}

/** Returns the projects above a project, nearest first; the last one is its domain. */
export function ancestors(store: IdentityStore, projectId: string): readonly string[] {
  const found: string[] = [];
  let parent = store.projects.get(projectId)?.parent_id ?? null;
  while (parent !== null && !found.includes(parent)) {
    found.push(parent);
    parent = store.projects.get(parent)?.parent_id ?? null;
  }
  return found;
}

export function withImplied(store: IdentityStore, roles: readonly string[]): ReadonlySet<string> {
  const found = new Set(roles);
  // A Set's iteration includes members that are added meanwhile.
  for (const id of found) {
    for (const implied of store.impliedRoles.rightOf(id)) {
      found.add(implied);
    }
  }
  return found;
}

/** Returns the projects in which a user has a role. */
export function projectsOf(store: IdentityStore, userId: string): readonly Project[] {
  const grants = grantsOfUser(store, userId);
  // Without inherited grants, the targets are the projects themselves.
  const candidates = grants.some(({ inherited }) => inherited)
    ? store.projects.list()
    : store.projects.findBy({ id: grants.map(({ targetId }) => targetId) });
  return candidates.filter(
    (project) =>
      !project.is_domain && effectiveRoles(store, userId, { target: "project", targetId: project.id }).length > 0,
  );
}

/** Returns the domains in which a user has a role. */
export function domainsOf(store: IdentityStore, userId: string): readonly Project[] {
  const ids = grantsOfUser(store, userId).flatMap(({ target, targetId, inherited }) =>
    target === "domain" && !inherited ? [targetId] : [],
  );
  return store.projects
    .findBy({ id: ids })
    .filter(({ id }) => effectiveRoles(store, userId, { target: "domain", targetId: id }).length > 0);
}
