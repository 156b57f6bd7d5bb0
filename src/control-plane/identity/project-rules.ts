import { badRequest, forbidden } from "../http/http-error.js";
import type { IdentityCall } from "./api/identity-call.js";
import { conflict } from "./api/identity-error.js";
import { endTokens, type IdentityStore, removeDomain } from "./store/identity-store.js";
import { newProject, type Project } from "./store/records.js";

/** Max depth of the project tree, including the domain: Keystone's `[DEFAULT] max_project_tree_depth`. */
const DEEPEST = 5;

/** @throws {HttpError} 409 if the domain has another project of that name */
export function assertUniqueName(store: IdentityStore, { id, name, domain_id: domain, is_domain }: Project): void {
  const other = store.projects.named(name, domain);
  if (!other || other.id === id) {
    return;
  }
  throw conflict(
    "project",
    is_domain
      ? `it is not permitted to have two projects acting as domains with the same name: ${name}`
      : `it is not permitted to have two projects with either the same name or same id in the same domain: name is ${name}, project id ${other.id}`,
  );
}

/** @throws {HttpError} 400, 403 if the parent or domain cannot have the new project */
export function assertValidParent(store: IdentityStore, { domain_id: domainId, parent_id: parentId }: Project): void {
  const domain = domainId === null ? undefined : store.domain(domainId);
  if (!domain) {
    throw badRequest(`Could not find domain: ${domainId}.`);
  }
  const parent = parentId === null ? undefined : store.projects.get(parentId);
  if (!parent) {
    throw badRequest(`Could not find project: ${parentId}.`);
  }
  const parentDomain = parent.is_domain ? parent.id : parent.domain_id;
  if (parentDomain !== domainId) {
    throw badRequest(
      `Cannot create project, since it specifies its domain_id ${domainId}, but specifies a parent in a different domain (${parentDomain}).`,
    );
  }
  const above = [parent, ...parentsOf(store, parent)];
  if (above.length >= DEEPEST) {
    throw forbidden(`Max hierarchy depth reached for ${parent.id} branch.`);
  }
  const disabled = above.find(({ enabled }) => !enabled);
  if (disabled) {
    throw forbidden(`Cannot create project in a branch containing a disabled project: ${disabled.id}.`);
  }
}

/** Returns the projects above a project, nearest first, the domain last. */
export function parentsOf(store: IdentityStore, { parent_id: parentId }: Project): readonly Project[] {
  const parent = parentId === null ? undefined : store.projects.get(parentId);
  return parent ? [parent, ...parentsOf(store, parent)] : [];
}

export function childrenOf(store: IdentityStore, id: string): readonly Project[] {
  return store.projects.findBy({ parent_id: id });
}

/** Stores a changed project or domain. Disabling it ends its tokens. @throws {HttpError} 403, 409 */
export function changeProject(store: IdentityStore, before: Project, after: Project): Project {
  assertUniqueName(store, after);
  const disabled = before.enabled && !after.enabled;
  const alive = (id: string): boolean => childrenOf(store, id).some((child) => child.enabled || alive(child.id));
  if (disabled && !after.is_domain && alive(after.id)) {
    throw forbidden(`Cannot disable project ${after.id} since its subtree contains enabled projects.`);
  }
  store.projects.update(after);
  if (disabled) {
    endTokens(store, "project", after.id);
    if (after.is_domain) {
      endTokens(store, "domain", after.id);
    }
  }
  return after;
}

/** Creates a domain: a project without a parent. @throws {HttpError} 409 */
export function createDomain(call: IdentityCall, attributes: Partial<Project> & Pick<Project, "name">): Project {
  const domain = newProject(call.newId(), attributes.name, {
    ...attributes,
    domain_id: null,
    parent_id: null,
    is_domain: true,
    description: attributes.description ?? "",
  });
  assertUniqueName(call.store, domain);
  return call.store.projects.insert(domain);
}

/** @throws {HttpError} 403 if the domain is enabled */
export function removeDomainRecord(store: IdentityStore, domain: Project): void {
  if (domain.enabled) {
    throw forbidden("Cannot delete a domain that is enabled, please disable it first.");
  }
  removeDomain(store, domain.id);
}
