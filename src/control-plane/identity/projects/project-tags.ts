import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityResponse, IdentityRoute } from "../api/identity-call.js";
import { notFound } from "../api/identity-error.js";
import { targetOf } from "../api/resource-routes.js";
import type { Project } from "../store/records.js";
import { TAG, TAGS } from "./schemas.js";

const PATH = "/v3/projects/:id/tags";

/** Words that a project is found by. */
export const TAG_ROUTES: readonly IdentityRoute[] = [
  { method: "GET", path: PATH, handle: (call) => tagsResponse(call, projectFor(call, "list_project_tags").tags) },
  {
    method: "PUT",
    path: PATH,
    handle: (call) => {
      const project = projectFor(call, "update_project_tags");
      return tagsResponse(call, setTags(call, project, call.body("tags")).tags);
    },
  },
  {
    method: "DELETE",
    path: PATH,
    handle: (call) => {
      setTags(call, projectFor(call, "delete_project_tags"), []);
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: `${PATH}/:tag`,
    handle: (call) => {
      requireTag(call, projectFor(call, "get_project_tag"));
      return { status: 204 };
    },
  },
  {
    method: "PUT",
    path: `${PATH}/:tag`,
    handle: (call) => {
      const project = projectFor(call, "create_project_tag");
      const tag = checkBody(TAG, call.param("tag"));
      setTags(call, project, [...new Set([...project.tags, tag])]);
      return { status: 201, headers: { location: call.url } };
    },
  },
  {
    method: "DELETE",
    path: `${PATH}/:tag`,
    handle: (call) => {
      const project = projectFor(call, "delete_project_tag");
      requireTag(call, project);
      const tags = project.tags.filter((tag) => tag !== call.param("tag"));
      setTags(call, project, tags);
      return { status: 204 };
    },
  },
];

/** Whether a project has all, any, not all or none of the tags that a query names. */
export function tagsPass({ query }: IdentityCall, { tags }: Project): boolean {
  const requestedTags = (name: string) => query.get(name)?.split(",");
  const has = (tag: string) => tags.includes(tag);
  return (
    (requestedTags("tags")?.every(has) ?? true) &&
    (requestedTags("tags-any")?.some(has) ?? true) &&
    !(requestedTags("not-tags")?.every(has) ?? false) &&
    !(requestedTags("not-tags-any")?.some(has) ?? false)
  );
}

function projectFor(call: IdentityCall, action: string): Project {
  const id = call.param("id");
  const project = call.store.projects.get(id);
  call.enforce(`identity:${action}`, targetOf("project", project));
  if (!project) {
    throw notFound("project", id);
  }
  return project;
}

function requireTag(call: IdentityCall, { tags }: Project): void {
  if (!tags.includes(call.param("tag"))) {
    throw notFound("project tag", call.param("tag"));
  }
}

function setTags(call: IdentityCall, project: Project, tags: unknown): Project {
  return call.store.projects.update({ ...project, tags: checkBody(TAGS, tags) });
}

function tagsResponse(call: IdentityCall, tags: readonly string[]): IdentityResponse {
  return { body: { tags, links: { self: call.url } } };
}
