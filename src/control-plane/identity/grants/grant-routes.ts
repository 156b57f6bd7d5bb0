import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { IdentityError, notFound } from "../api/identity-error.js";
import { listBody } from "../api/listing.js";
import { targetOf, withLinks } from "../api/resource-routes.js";
import { removeApplicationCredential } from "../store/cascades.js";
import type { Grant } from "./grant-table.js";

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

/** Roles of users and groups in projects, domains and the system, and those that projects inherit. */
export const GRANT_ROUTES: readonly IdentityRoute[] = PLACES.flatMap(routesOf);

function routesOf(place: Place): readonly IdentityRoute[] {
  const { actor, target, inherited } = place;
  const where = target === "system" ? "system" : `${target}s/:target`;
  const list = `/v3${inherited ? "/OS-INHERIT" : ""}/${where}/${actor}s/:actor/roles`;
  const suffix = inherited ? "/inherited_to_projects" : "";
  const one = `${list}/:role${suffix}`;
  return [
    {
      method: "GET",
      path: `${list}${suffix}`,
      handle: (call) => {
        const grantKey = grantOf(call, place, "list");
        const roles = call.store.grants
          .of(actor, grantKey.actorId)
          .filter((grant) => sameTarget(grant, grantKey))
          .flatMap(({ roleId }) => call.store.roles.get(roleId) ?? [])
          .map((role) => withLinks(call, "roles", role));
        return { body: listBody(call, "roles", roles) };
      },
    },
    {
      method: "GET",
      path: one,
      handle: (call) => {
        requireGrant(call, withRole(call, grantOf(call, place, "check")));
        return { status: 204 };
      },
    },
    {
      method: "PUT",
      path: one,
      handle: (call) => {
        call.store.grants.add(withRole(call, grantOf(call, place, "create")));
        return { status: 204 };
      },
    },
    {
      method: "DELETE",
      path: one,
      handle: (call) => {
        const grant = withRole(call, grantOf(call, place, "revoke"));
        requireGrant(call, grant);
        call.store.sql.transaction(() => {
          call.store.grants.remove(grant);
          endApplicationCredentials(call, grant);
        });
        return { status: 204 };
      },
    },
  ];
}

/** What the path names, once the caller may ask. @throws {IdentityError} 401, 403, 404 */
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
  // A grant of somebody who is gone can still be looked for, and taken away.
  if (!who && (verb === "create" || verb === "list")) {
    throw notFound(actor, actorId);
  }
  // The path may have an id in another case than the record.
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
    throw new IdentityError(
      404,
      `Could not find role assignment with role: ${grant.roleId}, user or group: ${grant.actorId}, project, domain, or system: ${grant.targetId}.`,
    );
  }
}

function sameTarget(one: GrantOf, other: GrantOf): boolean {
  return one.target === other.target && one.targetId === other.targetId && one.inherited === other.inherited;
}

/** A user's application credentials for a project end with the role that they pass on. */
function endApplicationCredentials({ store }: IdentityCall, { actor, actorId, targetId, roleId }: Grant): void {
  const users = actor === "user" ? [actorId] : store.members.rightOf(actorId);
  for (const user of users) {
    for (const credential of store.applicationCredentials.where("user_id", user)) {
      if (credential.project_id === targetId && credential.roles.includes(roleId)) {
        removeApplicationCredential(store, credential.id);
      }
    }
  }
}
