import { badRequest, forbidden } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import { checkBody } from "./api/check-body.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { notFound } from "./api/identity-error.js";
import { authorizedRecord, resourceRoutes, withLinks } from "./api/resource-routes.js";
import { effectiveRoles } from "./effective-roles.js";
import {
  assertUniqueName,
  assertValidParent,
  changeProject,
  childrenOf,
  createDomain,
  parentsOf,
  removeDomainRecord,
} from "./project-rules.js";
import type { CreateOf } from "./store/identity-resource.js";
import { type IdentityStore, removeProject } from "./store/identity-store.js";
import { newProject, PROJECTS, type Project, TAG, TAGS } from "./store/records.js";

const inProject = ({ id }: Project) => ({ target: "project", targetId: id }) as const;

/** Routes of project tags. */
const TAG_ROUTES = routes<IdentityRoute>(
  {
    "GET /": (call) =>
      tagsResponse(call, authorizedRecord(call, "project", call.store.projects, "list_project_tags").tags),
    "PUT /": (call) => {
      const project = authorizedRecord(call, "project", call.store.projects, "update_project_tags");
      return tagsResponse(call, setTags(call, project, call.body("tags")).tags);
    },
    "DELETE /": (call) => {
      setTags(call, authorizedRecord(call, "project", call.store.projects, "delete_project_tags"), []);
      return { status: 204 };
    },
    "GET /:tag": (call) => {
      requireTag(call, authorizedRecord(call, "project", call.store.projects, "get_project_tag"));
      return { status: 204 };
    },
    "PUT /:tag": (call) => {
      const project = authorizedRecord(call, "project", call.store.projects, "create_project_tag");
      const tag = checkBody(TAG.schema, call.param("tag"));
      setTags(call, project, [...new Set([...project.tags, tag])]);
      return { status: 201, headers: { location: call.url } };
    },
    "DELETE /:tag": (call) => {
      const project = authorizedRecord(call, "project", call.store.projects, "delete_project_tag");
      requireTag(call, project);
      const tags = project.tags.filter((tag) => tag !== call.param("tag"));
      setTags(call, project, tags);
      return { status: 204 };
    },
  },
  { prefix: "/v3/projects/:id/tags" },
);

export const PROJECT_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(PROJECTS, {
    table: (store) => store.projects,
    list: (call) => {
      const { projects } = call.store;
      const all = call.query.get("is_domain") === undefined ? projects.findBy({ is_domain: false }) : projects.list();
      return all.filter((project) => tagsPass(call, project));
    },
    create,
    update: ({ store }, project, changes) => {
      for (const member of ["parent_id", "is_domain"] as const) {
        if (changes[member] !== undefined && changes[member] !== project[member]) {
          throw forbidden(`Update of \`${member}\` is not allowed.`);
        }
      }
      return store.sql.transaction(() => changeProject(store, project, { ...project, ...changes }));
    },
    remove,
    view: (call, project) => (call.param("id") === "" ? project : { ...project, ...relatives(call, project) }),
  }),
  ...TAG_ROUTES,
];

function create(call: IdentityCall, attributes: CreateOf<typeof PROJECTS.attributes>): Project {
  const { store } = call;
  if (attributes.is_domain === true) {
    if (attributes.domain_id != null || attributes.parent_id != null) {
      throw badRequest("only root projects are allowed to act as domains.");
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

/** Returns the id as stored, which may differ in case; the id itself if no project has it. */
function canonicalId(store: IdentityStore, id: string | null | undefined): string | null | undefined {
  return id == null ? id : (store.projects.get(id)?.id ?? id);
}

function remove({ store }: IdentityCall, project: Project): void {
  if (project.is_domain) {
    removeDomainRecord(store, project);
    return;
  }
  if (childrenOf(store, project.id).length > 0) {
    throw forbidden(
      `Cannot delete the project ${project.id} since it is not a leaf in the hierarchy. Use the cascade option if you want to delete a whole subtree.`,
    );
  }
  removeProject(store, project.id);
}

/** Returns true if a project's tags match the query: `tags`, `tags-any`, `not-tags`, `not-tags-any`. */
function tagsPass({ query }: IdentityCall, { tags }: Project): boolean {
  const requestedTags = (name: string) => query.get(name)?.split(",");
  const has = (tag: string) => tags.includes(tag);
  return (
    (requestedTags("tags")?.every(has) ?? true) &&
    (requestedTags("tags-any")?.some(has) ?? true) &&
    !(requestedTags("not-tags")?.every(has) ?? false) &&
    !(requestedTags("not-tags-any")?.some(has) ?? false)
  );
}

function requireTag(call: IdentityCall, { tags }: Project): void {
  if (!tags.includes(call.param("tag"))) {
    throw notFound("project tag", call.param("tag"));
  }
}

function setTags(call: IdentityCall, project: Project, tags: unknown): Project {
  return call.store.projects.update({ ...project, tags: checkBody(TAGS.schema, tags) });
}

function tagsResponse(call: IdentityCall, tags: readonly string[]): RouteResponse {
  return { body: { tags, links: { self: call.url } } };
}

/** Returns the projects above and below a project as the query requests them: `?parents_as_ids`. @throws {HttpError} 400 */
function relatives(call: IdentityCall, project: Project): Readonly<Record<string, Json>> {
  for (const side of ["parents", "subtree"]) {
    if (call.flag(`${side}_as_list`) && call.flag(`${side}_as_ids`)) {
      throw badRequest(`Cannot use ${side}_as_list and ${side}_as_ids query params at the same time.`);
    }
  }
  const { store } = call;
  const listed = (projects: readonly Project[]): Json =>
    projects
      .filter((one) => !one.is_domain && effectiveRoles(store, call.token.user.id, inProject(one)).length > 0)
      .map((one) => ({ project: withLinks(call, "projects", one) as unknown as Json }));
  return {
    ...(call.flag("parents_as_list") ? { parents: listed(parentsOf(store, project)) } : {}),
    ...(call.flag("parents_as_ids") ? { parents: parentIds(store, project) } : {}),
    ...(call.flag("subtree_as_list") ? { subtree: listed(below(store, project.id)) } : {}),
    ...(call.flag("subtree_as_ids") ? { subtree: childIds(store, project.id) } : {}),
  };
}

function below(store: IdentityStore, id: string): readonly Project[] {
  return childrenOf(store, id).flatMap((child) => [child, ...below(store, child.id)]);
}

function parentIds(store: IdentityStore, project: Project): Json {
  return parentsOf(store, project).reduceRight<Json>((above, { id }) => ({ [id]: above }), null);
}

function childIds(store: IdentityStore, id: string): Json {
  const children = childrenOf(store, id);
  return children.length === 0
    ? null
    : Object.fromEntries(children.map((child) => [child.id, childIds(store, child.id)]));
}
