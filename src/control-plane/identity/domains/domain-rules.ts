import type { IdentityCall } from "../api/identity-call.js";
import { IdentityError } from "../api/identity-error.js";
import { assertUniqueName } from "../projects/project-rules.js";
import { removeDomain } from "../store/cascades.js";
import type { IdentityStore } from "../store/identity-store.js";
import { newProject } from "../store/new-project.js";
import type { Project } from "../store/records.js";

/** A domain is a project that no other is above. @throws {IdentityError} 409 */
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

/** @throws {IdentityError} 403 it is enabled */
export function removeDomainRecord(store: IdentityStore, domain: Project): void {
  if (domain.enabled) {
    throw new IdentityError(403, "Cannot delete a domain that is enabled, please disable it first.");
  }
  removeDomain(store, domain.id);
}
