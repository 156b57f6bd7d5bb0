import type { IdentityStore } from "../store/identity-store.js";
import type { Project } from "../store/records.js";
import { effectiveRoles, grantsOfUser } from "./effective-roles.js";

/** The projects that a user has a role in. */
export function projectsOf(store: IdentityStore, userId: string): readonly Project[] {
  const grants = grantsOfUser(store, userId);
  // Without inherited ones the grants name the projects themselves.
  const candidates = grants.some(({ inherited }) => inherited)
    ? store.projects.list()
    : store.projects.list().filter(({ id }) => grants.some((grant) => grant.targetId === id));
  return candidates.filter(
    (project) =>
      !project.is_domain && effectiveRoles(store, userId, { target: "project", targetId: project.id }).length > 0,
  );
}

/** The domains that a user has a role in. */
export function domainsOf(store: IdentityStore, userId: string): readonly Project[] {
  const ids = grantsOfUser(store, userId).flatMap(({ target, targetId, inherited }) =>
    target === "domain" && !inherited ? [targetId] : [],
  );
  return store.projects
    .list()
    .filter(
      ({ id }) => ids.includes(id) && effectiveRoles(store, userId, { target: "domain", targetId: id }).length > 0,
    );
}
