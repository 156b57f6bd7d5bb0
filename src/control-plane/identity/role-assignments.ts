import { badRequest, HttpError } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { notFound } from "./api/identity-error.js";
import { listBody, targetOf, withLinks } from "./api/resource-routes.js";
import { ancestors, withImplied } from "./effective-roles.js";
import { type Grant, removeApplicationCredential } from "./store/identity-store.js";
import { isSameName } from "./store/record-tables.js";

type GrantOf = Omit<Grant, "roleId">;

interface Place {
  readonly actor: Grant["actor"];
  readonly target: Grant["target"];
  readonly inherited: boolean;
}

const PLACES: readonly Place[] = (["user", "group"] as const).flatMap((actor) => [
  { actor, target: "system", inherited: false },
  ...(["project", "domain"] as const).flatMap((target) =>
    [false, true].map((inherited) => ({ actor, target, inherited })),
  ),
]);

/** Routes of grants: roles of users and groups in projects, domains and the system, and roles that projects inherit. */
export const GRANT_ROUTES: readonly IdentityRoute[] = PLACES.flatMap(routesOf);

function routesOf(place: Place): readonly IdentityRoute[] {
  const { actor, target, inherited } = place;
  const where = target === "system" ? "system" : `${target}s/:target`;
  const path = `/v3${inherited ? "/OS-INHERIT" : ""}/${where}/${actor}s/:actor/roles`;
  const suffix = inherited ? "/inherited_to_projects" : "";
  return [
    ...routes<IdentityRoute>(
      {
        "GET /": (call) => {
          const grantKey = grantOf(call, place, "list");
          const roles = call.store.grants
            .of(actor, grantKey.actorId)
            .filter((grant) => sameTarget(grant, grantKey))
            .flatMap(({ roleId }) => call.store.roles.get(roleId) ?? [])
            .map((role) => withLinks(call, "roles", role));
          return { body: listBody(call, "roles", roles) };
        },
      },
      { prefix: `${path}${suffix}` },
    ),
    ...routes<IdentityRoute>(
      {
        "GET /": (call) => {
          requireGrant(call, withRole(call, grantOf(call, place, "check")));
          return { status: 204 };
        },
        "PUT /": (call) => {
          call.store.grants.add(withRole(call, grantOf(call, place, "create")));
          return { status: 204 };
        },
        "DELETE /": (call) => {
          const grant = withRole(call, grantOf(call, place, "revoke"));
          requireGrant(call, grant);
          call.store.sql.transaction(() => {
            call.store.grants.remove(grant);
            endApplicationCredentials(call, grant);
          });
          return { status: 204 };
        },
      },
      { prefix: `${path}/:role${suffix}` },
    ),
  ];
}

/** Authorizes the caller and returns the grant that the path names. @throws {HttpError} 401, 403, 404 */
function grantOf(call: IdentityCall, place: Place, verb: "list" | "check" | "create" | "revoke"): GrantOf {
  const { store } = call;
  const { actor, target, inherited } = place;
  const [actorId, targetId, roleId] = [call.param("actor"), call.param("target"), call.param("role")];
  const who = actor === "user" ? store.users.get(actorId) : store.groups.get(actorId);
  const where = target === "domain" ? store.domain(targetId) : store.projects.get(targetId);
  const role = store.roles.get(roleId);
  const noun = verb === "list" ? "grants" : "grant";
  const rule = target === "system" ? `${verb}_system_${noun}_for_${actor}` : `${verb}_${noun}`;
  call.enforce(`identity:${rule}`, {
    ...targetOf("role", role),
    "target.actor.domain_id": who?.domain_id,
    "target.scope.domain_id": target === "domain" ? where?.id : (where?.domain_id ?? undefined),
  });
  if (roleId !== "" && !role) {
    throw notFound("role", roleId);
  }
  if (target !== "system" && !where) {
    throw notFound(target, targetId);
  }
  // Grants of a deleted user or group can still be checked and revoked.
  if (!who && (verb === "create" || verb === "list")) {
    throw notFound(actor, actorId);
  }
  // The id in the path may differ in case from the record's.
  return {
    actor,
    actorId: who?.id ?? actorId,
    target,
    targetId: target === "system" ? "system" : (where?.id ?? targetId),
    inherited,
  };
}

function withRole(call: IdentityCall, grant: GrantOf): Grant {
  const id = call.param("role");
  return { ...grant, roleId: call.store.roles.get(id)?.id ?? id };
}

function requireGrant({ store }: IdentityCall, grant: Grant): void {
  if (!store.grants.has(grant)) {
    throw new HttpError(
      404,
      `Could not find role assignment with role: ${grant.roleId}, user or group: ${grant.actorId}, project, domain, or system: ${grant.targetId}.`,
    );
  }
}

function sameTarget(one: GrantOf, other: GrantOf): boolean {
  return one.target === other.target && one.targetId === other.targetId && one.inherited === other.inherited;
}

/** Deletes a user's application credentials for a project that pass on a revoked role. */
function endApplicationCredentials({ store }: IdentityCall, { actor, actorId, targetId, roleId }: Grant): void {
  const users = actor === "user" ? [actorId] : store.members.rightOf(actorId);
  for (const user of users) {
    for (const credential of store.applicationCredentials.findBy({ user_id: user, project_id: targetId })) {
      if (credential.roles.includes(roleId)) {
        removeApplicationCredential(store, credential.id);
      }
    }
  }
}

/** A grant, or one derived from it: per group member, per project below, per implied role. */
interface Assignment extends Grant {
  /** The grant that this assignment is derived from. */
  readonly sourceGrant: Grant;
}

/** Route of GET /v3/role_assignments, which lists effective roles by user and scope. */
export const ROLE_ASSIGNMENT_ROUTES = routes<IdentityRoute>({
  "GET /v3/role_assignments": (call) => {
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
});

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
    throw badRequest(conflict[1]);
  }
}

function effective({ store }: IdentityCall, sourceGrant: Grant): readonly Assignment[] {
  const users = sourceGrant.actor === "user" ? [sourceGrant.actorId] : store.members.rightOf(sourceGrant.actorId);
  const projects = sourceGrant.inherited
    ? store.projects
        .findBy({ is_domain: false })
        .filter(({ id }) => ancestors(store, id).includes(sourceGrant.targetId))
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
