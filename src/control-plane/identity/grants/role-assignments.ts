import type { Json } from "../../http/json.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { IdentityError } from "../api/identity-error.js";
import { listBody } from "../api/listing.js";
import { isSameName } from "../name-key.js";
import { ancestors, withImplied } from "./effective-roles.js";
import type { Grant } from "./grant-table.js";

/** A grant, or what becomes of one: of each member of a group, in each project below, for each role that is implied. */
interface Assignment extends Grant {
  /** The grant that it comes from. */
  readonly sourceGrant: Grant;
}

/** GET /v3/role_assignments: who has which role where. */
export const ROLE_ASSIGNMENT_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/role_assignments",
    handle: (call) => {
      const { domainId } = call.token.record;
      const rule = call.flag("include_subtree") ? "list_role_assignments_for_tree" : "list_role_assignments";
      call.enforce(`identity:${rule}`, domainId === null ? {} : { "target.domain_id": domainId });
      assertFilterCombination(call);
      const { grants } = call.store;
      const all = call.flag("effective")
        ? grants.all().flatMap((grant) => effective(call, grant))
        : grants.all().map((grant) => ({ ...grant, sourceGrant: grant }));
      const found = all.filter((one) => matches(call, one) && (domainId === null || isIn(call, one, domainId)));
      return { body: listBody(call, "role_assignments", found.map((one) => viewOf(call, one)) as never) };
    },
  },
];

/** @throws {IdentityError} 400 */
function assertFilterCombination(call: IdentityCall): void {
  const has = (name: string) => (call.query.get(name) ?? "") !== "";
  const conflicts: readonly (readonly [boolean, string])[] = [
    [has("scope.domain.id") && has("scope.project.id"), "Specify a domain or project, not both"],
    [has("scope.domain.id") && has("scope.system"), "Specify system or domain, not both"],
    [has("scope.project.id") && has("scope.system"), "Specify system or project, not both"],
    [has("user.id") && has("group.id"), "Specify a user or group, not both"],
    [
      call.flag("effective") && has("group.id"),
      "Combining effective and group filter will always result in an empty list.",
    ],
    [
      call.flag("effective") && has("scope.domain.id") && has("scope.OS-INHERIT:inherited_to"),
      "Combining effective, domain and inherited filters will always result in an empty list.",
    ],
    [
      call.flag("include_subtree") && !has("scope.project.id"),
      "scope.project.id must be specified if include_subtree is also specified",
    ],
  ];
  const conflict = conflicts.find(([wrong]) => wrong);
  if (conflict) {
    throw new IdentityError(400, conflict[1]);
  }
}

function effective({ store }: IdentityCall, sourceGrant: Grant): readonly Assignment[] {
  const users = sourceGrant.actor === "user" ? [sourceGrant.actorId] : store.members.rightOf(sourceGrant.actorId);
  const projects = sourceGrant.inherited
    ? store.projects
        .list()
        .filter(({ id, is_domain }) => !is_domain && ancestors(store, id).includes(sourceGrant.targetId))
    : [];
  const places = sourceGrant.inherited
    ? projects.map(({ id }) => ({ target: "project", targetId: id }) as const)
    : [{ target: sourceGrant.target, targetId: sourceGrant.targetId }];
  const roles = [...withImplied(store, [sourceGrant.roleId])].filter((id) => store.roles.get(id)?.domain_id === null);
  return users.flatMap((actorId) =>
    places.flatMap((place) =>
      roles.map((roleId): Assignment => ({ ...sourceGrant, ...place, actor: "user", actorId, roleId, sourceGrant })),
    ),
  );
}

function matches(call: IdentityCall, { actor, actorId, target, targetId, roleId, inherited }: Assignment): boolean {
  const matchesFilter = (name: string, value: string | undefined): boolean =>
    isSameName(call.query.get(name) || value, value);
  const project = call.query.get("scope.project.id") ?? "";
  const below = call.flag("include_subtree") && ancestors(call.store, targetId).includes(project);
  return (
    matchesFilter("user.id", actor === "user" ? actorId : undefined) &&
    matchesFilter("group.id", actor === "group" ? actorId : undefined) &&
    matchesFilter("role.id", roleId) &&
    (below || matchesFilter("scope.project.id", target === "project" ? targetId : undefined)) &&
    matchesFilter("scope.domain.id", target === "domain" ? targetId : undefined) &&
    matchesFilter("scope.OS-INHERIT:inherited_to", inherited ? "projects" : undefined) &&
    (call.query.get("scope.system") === undefined || target === "system")
  );
}

function isIn({ store }: IdentityCall, { target, targetId }: Assignment, domainId: string): boolean {
  return targetId === domainId || (target === "project" && store.projects.get(targetId)?.domain_id === domainId);
}

function viewOf(call: IdentityCall, assignment: Assignment): Json {
  const { store } = call;
  const names = call.flag("include_names");
  const named = (record: { readonly id: string; readonly name: string } | undefined, id: string) =>
    names && record ? { id, name: record.name } : { id };
  const owned = (
    record: { readonly id: string; readonly name: string; readonly domain_id: string | null } | undefined,
    id: string,
  ) => {
    const domain =
      names && record?.domain_id != null ? { domain: named(store.domain(record.domain_id), record.domain_id) } : {};
    return { ...named(record, id), ...domain };
  };
  const { actor, actorId, target, targetId, roleId, inherited, sourceGrant } = assignment;
  const scope: Readonly<Record<string, Json>> =
    target === "system" ? { system: { all: true } } : { [target]: owned(store.projects.get(targetId), targetId) };
  const viaGroup = sourceGrant.actor !== actor;
  const viaRole = sourceGrant.roleId !== roleId;
  return {
    [actor]: owned(actor === "user" ? store.users.get(actorId) : store.groups.get(actorId), actorId),
    role: owned(store.roles.get(roleId), roleId),
    scope: { ...scope, ...(inherited ? { "OS-INHERIT:inherited_to": "projects" } : {}) },
    links: {
      assignment: grantUrl(call, sourceGrant),
      ...(viaGroup ? { membership: `${call.root}/groups/${sourceGrant.actorId}/users/${actorId}` } : {}),
      ...(viaRole ? { prior_role: `${call.root}/prior_roles/${sourceGrant.roleId}/implies/${roleId}` } : {}),
    },
  };
}

function grantUrl(call: IdentityCall, { actor, actorId, target, targetId, roleId, inherited }: Grant): string {
  const where = target === "system" ? "system" : `${target}s/${targetId}`;
  const path = `${where}/${actor}s/${actorId}/roles/${roleId}`;
  return inherited ? `${call.root}/OS-INHERIT/${path}/inherited_to_projects` : `${call.root}/${path}`;
}
