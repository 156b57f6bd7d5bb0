import { notFound } from "../http/http-error.js";
import { routes } from "../http/router.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import {
  assertUniqueName,
  authorizedRecord,
  listBody,
  requireRecord,
  resourceRoutes,
  targetOf,
  withLinks,
} from "./api/resource-routes.js";
import { removeGroup } from "./store/identity-store.js";
import { GROUPS, USERS } from "./store/records.js";

export const GROUP_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(GROUPS, {
    table: (store) => store.groups,
    create: (call, attributes) => {
      const domainId = attributes.domain_id ?? call.ownDomain;
      const domain = requireRecord("domain", domainId, call.store.domain(domainId));
      const group = {
        ...attributes,
        name: attributes.name.trim(),
        id: call.newId(),
        domain_id: domain.id,
        description: attributes.description ?? "",
      };
      assertUniqueName("group", call.store.groups, group);
      return call.store.groups.insert(group);
    },
    update: ({ store }, group, changes) => {
      const name = (changes.name ?? group.name).trim();
      const after = { ...group, ...changes, name, description: changes.description ?? group.description };
      assertUniqueName("group", store.groups, after);
      return store.groups.update(after);
    },
    remove: ({ store }, group) => removeGroup(store, group.id),
  }),
  ...routes<IdentityRoute>({
    "GET /v3/groups/:id/users": (call) => {
      const group = authorizedRecord(call, "group", call.store.groups, "list_users_in_group");
      const users = call.store.members
        .rightOf(group.id)
        .flatMap((user) => call.store.users.get(user) ?? [])
        .map((user) => ({ ...withLinks(call, "users", user), password_expires_at: null }));
      return { body: listBody(call, "users", users, USERS.attributes) };
    },
    "PUT /v3/groups/:id/users/:user": (call) => {
      const { group, user } = pair(call, "add_user_to_group");
      call.store.members.add(group, user);
      return { status: 204 };
    },
    "GET /v3/groups/:id/users/:user": (call) => {
      requireMember(call, pair(call, "check_user_in_group"));
      return { status: 204 };
    },
    "DELETE /v3/groups/:id/users/:user": (call) => {
      const { group, user } = pair(call, "remove_user_from_group");
      requireMember(call, { group, user });
      call.store.members.remove(group, user);
      return { status: 204 };
    },
  }),
];

interface Pair {
  readonly group: string;
  readonly user: string;
}

function pair(call: IdentityCall, action: string): Pair {
  const [groupId, userId] = [call.param("id"), call.param("user")];
  const group = call.store.groups.get(groupId);
  const user = call.store.users.get(userId);
  call.enforce(`identity:${action}`, { ...targetOf("group", group), ...targetOf("user", user) });
  const userRecord = requireRecord("user", userId, user);
  return { group: requireRecord("group", groupId, group).id, user: userRecord.id };
}

function requireMember({ store }: IdentityCall, { group, user }: Pair): void {
  if (!store.members.has(group, user)) {
    throw notFound(`User '${user}' not found in group '${group}'.`);
  }
}
