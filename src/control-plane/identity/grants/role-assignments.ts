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
  readonly given: Grant;
}

/** GET /v3/role_assignments: who has which role where. */
export const ROLE_ASSIGNMENT_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/role_assignments",
    answer: (call) => {
      const { domainId } = call.token.record;
      const rule = call.flag("include_subtree") ? "list_role_assignments_for_tree" : "list_role_assignments";
      call.enforce(`identity:${rule}`, domainId === null ? {} : { "target.domain_id": domainId });
      refuseCombinations(call);
      const { grants } = call.store;
      const all = call.flag("effective")
        ? grants.all().flatMap((grant) => effective(call, grant))
        : grants.all().map((grant) => ({ ...grant, given: grant }));
      const found = all.filter((one) => matches(call, one) && (domainId === null || isIn(call, one, domainId)));
      return { body: listBody(call, "role_assignments", found.map((one) => viewOf(call, one)) as never) };
    },
  },
];

/** @throws {IdentityError} 400 */
function refuseCombinations(call: IdentityCall): void {
  const has = (name: string) => (call.query.get(name) ?? "") !== "";
  const refusals: readonly (readonly [boolean, string])[] = [
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
  const refusal = refusals.find(([wrong]) => wrong);
  if (refusal) {
    throw new IdentityError(400, refusal[1]);
  }
}

function effective({ store }: IdentityCall, given: Grant): readonly Assignment[] {
  const users = given.actor === "user" ? [given.actorId] : store.members.rightOf(given.actorId);
  const projects = given.inherited
    ? store.projects.list().filter(({ id, is_domain }) => !is_domain && ancestors(store, id).includes(given.targetId))
    : [];
  const places = given.inherited
    ? projects.map(({ id }) => ({ target: "project", targetId: id }) as const)
    : [{ target: given.target, targetId: given.targetId }];
  const roles = [...withImplied(store, [given.roleId])].filter((id) => store.roles.get(id)?.domain_id === null);
  return users.flatMap((actorId) =>
    places.flatMap((place) =>
      roles.map((roleId): Assignment => ({ ...given, ...place, actor: "user", actorId, roleId, given })),
    ),
  );
}

function matches(call: IdentityCall, { actor, actorId, target, targetId, roleId, inherited }: Assignment): boolean {
  const asked = (name: string, value: string | undefined): boolean => isSameName(call.query.get(name) || value, value);
  const project = call.query.get("scope.project.id") ?? "";
  const below = call.flag("include_subtree") && ancestors(call.store, targetId).includes(project);
  return (
    asked("user.id", actor === "user" ? actorId : undefined) &&
    asked("group.id", actor === "group" ? actorId : undefined) &&
    asked("role.id", roleId) &&
    (below || asked("scope.project.id", target === "project" ? targetId : undefined)) &&
    asked("scope.domain.id", target === "domain" ? targetId : undefined) &&
    asked("scope.OS-INHERIT:inherited_to", inherited ? "projects" : undefined) &&
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
  const { actor, actorId, target, targetId, roleId, inherited, given } = assignment;
  const scope: Readonly<Record<string, Json>> =
    target === "system" ? { system: { all: true } } : { [target]: owned(store.projects.get(targetId), targetId) };
  const viaGroup = given.actor !== actor;
  const viaRole = given.roleId !== roleId;
  return {
    [actor]: owned(actor === "user" ? store.users.get(actorId) : store.groups.get(actorId), actorId),
    role: owned(store.roles.get(roleId), roleId),
    scope: { ...scope, ...(inherited ? { "OS-INHERIT:inherited_to": "projects" } : {}) },
    links: {
      assignment: grantUrl(call, given),
      ...(viaGroup ? { membership: `${call.root}/groups/${given.actorId}/users/${actorId}` } : {}),
      ...(viaRole ? { prior_role: `${call.root}/prior_roles/${given.roleId}/implies/${roleId}` } : {}),
    },
  };
}

function grantUrl(call: IdentityCall, { actor, actorId, target, targetId, roleId, inherited }: Grant): string {
  const where = target === "system" ? "system" : `${target}s/${targetId}`;
  const path = `${where}/${actor}s/${actorId}/roles/${roleId}`;
  return inherited ? `${call.root}/OS-INHERIT/${path}/inherited_to_projects` : `${call.root}/${path}`;
}
