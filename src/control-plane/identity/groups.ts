import { HttpError } from "../http/http-error.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, notFound } from "./api/identity-error.js";
import {
  checkBody,
  createSchema,
  ID,
  listBody,
  NAME,
  orNull,
  resourceRoutes,
  TEXT,
  targetOf,
  updateSchema,
  withLinks,
} from "./api/resource-routes.js";
import { removeGroup } from "./store/identity-store.js";
import type { Group } from "./store/records.js";

const GROUP = { description: orNull(TEXT), domain_id: ID };
const CREATE = createSchema({ name: NAME }, GROUP);
const UPDATE = updateSchema({ name: NAME, ...GROUP });

const MEMBER = "/v3/groups/:id/users/:user";

export const GROUP_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Group>({
    plural: "groups",
    singular: "group",
    filters: ["domain_id", "name"],
    table: (store) => store.groups,
    list: ({ store }) => store.groups.list(),
    create: (call, body) => {
      const attributes = checkBody(CREATE, body);
      const domainId = attributes.domain_id ?? call.ownDomain;
      const domain = call.store.domain(domainId);
      if (!domain) {
        throw notFound("domain", domainId);
      }
      const group = {
        ...attributes,
        name: attributes.name.trim(),
        id: call.newId(),
        domain_id: domain.id,
        description: attributes.description ?? "",
      };
      assertUniqueName(call, group);
      return call.store.groups.insert(group);
    },
    update: (call, group, body) => {
      const requestedChanges = checkBody(UPDATE, body);
      const name = (requestedChanges.name ?? group.name).trim();
      const after = {
        ...group,
        ...requestedChanges,
        name,
        description: requestedChanges.description ?? group.description,
      };
      assertUniqueName(call, after);
      return call.store.groups.update(after);
    },
    remove: ({ store }, group) => removeGroup(store, group.id),
  }),
  {
    method: "GET",
    path: "/v3/groups/:id/users",
    handle: (call) => {
      const id = call.param("id");
      const group = call.store.groups.get(id);
      call.enforce("identity:list_users_in_group", targetOf("group", group));
      if (!group) {
        throw notFound("group", id);
      }
      const users = call.store.members
        .rightOf(group.id)
        .flatMap((user) => call.store.users.get(user) ?? [])
        .map((user) => ({ ...withLinks(call, "users", user), password_expires_at: null }));
      return { body: listBody(call, "users", users, ["domain_id", "enabled", "name"]) };
    },
  },
  {
    method: "PUT",
    path: MEMBER,
    handle: (call) => {
      const { group, user } = pair(call, "add_user_to_group");
      call.store.members.add(group, user);
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: MEMBER,
    handle: (call) => {
      requireMember(call, pair(call, "check_user_in_group"));
      return { status: 204 };
    },
  },
  {
    method: "DELETE",
    path: MEMBER,
    handle: (call) => {
      const { group, user } = pair(call, "remove_user_from_group");
      requireMember(call, { group, user });
      call.store.members.remove(group, user);
      return { status: 204 };
    },
  },
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
  if (!user) {
    throw notFound("user", userId);
  }
  if (!group) {
    throw notFound("group", groupId);
  }
  return { group: group.id, user: user.id };
}

function requireMember({ store }: IdentityCall, { group, user }: Pair): void {
  if (!store.members.has(group, user)) {
    throw new HttpError(404, `User '${user}' not found in group '${group}'.`);
  }
}

function assertUniqueName({ store }: IdentityCall, { id, name, domain_id: domainId }: Group): void {
  const other = store.groups.named(name, domainId);
  if (other && other.id !== id) {
    throw conflict("group", `Duplicate entry found with name ${name} at domain ID ${domainId}`);
  }
}
