import type { Json } from "../../http/json.js";
import type { IdentityCall } from "../api/identity-call.js";
import { IdentityError } from "../api/identity-error.js";
import { withLinks } from "../api/resource-routes.js";
import { effectiveRoles } from "../grants/effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { Project } from "../store/records.js";
import { childrenOf, parentsOf } from "./project-rules.js";

/** What a query asks to be told of the projects above and below one: `?parents_as_ids`. @throws {IdentityError} 400 */
export function relatives(call: IdentityCall, project: Project): Readonly<Record<string, Json>> {
  for (const side of ["parents", "subtree"]) {
    if (call.flag(`${side}_as_list`) && call.flag(`${side}_as_ids`)) {
      throw new IdentityError(400, `Cannot use ${side}_as_list and ${side}_as_ids query params at the same time.`);
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

const inProject = ({ id }: Project) => ({ target: "project", targetId: id }) as const;

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
