import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { IdentityError } from "../api/identity-error.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { createDomain, removeDomainRecord } from "../domains/domain-rules.js";
import { removeProject } from "../store/cascades.js";
import type { IdentityStore } from "../store/identity-store.js";
import { newProject } from "../store/new-project.js";
import type { Project } from "../store/records.js";
import { relatives } from "./hierarchy.js";
import { assertUniqueName, assertValidParent, changeProject, childrenOf } from "./project-rules.js";
import { TAG_ROUTES, tagsPass } from "./project-tags.js";
import { CREATE_PROJECT, UPDATE_PROJECT } from "./schemas.js";

export const PROJECT_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Project>({
    plural: "projects",
    singular: "project",
    filters: ["domain_id", "enabled", "name", "parent_id", "is_domain"],
    table: (store) => store.projects,
    list: (call) =>
      call.store.projects
        .list()
        .filter(
          (project) => (call.query.get("is_domain") !== undefined || !project.is_domain) && tagsPass(call, project),
        ),
    create,
    update: ({ store }, project, body) => {
      const changes = checkBody(UPDATE_PROJECT, body);
      for (const member of ["parent_id", "is_domain"] as const) {
        if (changes[member] !== undefined && changes[member] !== project[member]) {
          throw new IdentityError(403, `Update of \`${member}\` is not allowed.`);
        }
      }
      return store.sql.transaction(() => changeProject(store, project, { ...project, ...changes }));
    },
    remove,
    view: (call, project) => (call.param("id") === "" ? project : { ...project, ...relatives(call, project) }),
  }),
  ...TAG_ROUTES,
];

function create(call: IdentityCall, body: unknown): Project {
  const { store } = call;
  const attributes = checkBody(CREATE_PROJECT, body);
  if (attributes.is_domain === true) {
    if (attributes.domain_id != null || attributes.parent_id != null) {
      throw new IdentityError(400, "only root projects are allowed to act as domains.");
    }
    return createDomain(call, attributes);
  }
  const domainId = canonicalId(store, attributes.domain_id) ?? call.ownDomain;
  const project = newProject(call.newId(), attributes.name, {
    ...attributes,
    domain_id: domainId,
    parent_id: canonicalId(store, attributes.parent_id) ?? domainId,
    description: attributes.description ?? "",
  });
  assertValidParent(store, project);
  assertUniqueName(store, project);
  return store.projects.insert(project);
}

/** Returns the id as its record has it, which may be in another case; the id itself if there is no record. */
function canonicalId(store: IdentityStore, id: string | null | undefined): string | null | undefined {
  return id == null ? id : (store.projects.get(id)?.id ?? id);
}

function remove({ store }: IdentityCall, project: Project): void {
  if (project.is_domain) {
    removeDomainRecord(store, project);
    return;
  }
  if (childrenOf(store, project.id).length > 0) {
    throw new IdentityError(
      403,
      `Cannot delete the project ${project.id} since it is not a leaf in the hierarchy. Use the cascade option if you want to delete a whole subtree.`,
    );
  }
  removeProject(store, project.id);
}
