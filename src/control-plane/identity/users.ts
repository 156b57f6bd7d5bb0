import { Type } from "typebox";
import { HttpError } from "../http/http-error.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, notFound, unauthorized } from "./api/identity-error.js";
import {
  BOOLEAN,
  checkBody,
  createSchema,
  ID,
  listBody,
  NAME,
  OPTIONS,
  orNull,
  resourceRoutes,
  TEXT,
  targetOf,
  updateSchema,
  withLinks,
} from "./api/resource-routes.js";
import { projectsOf } from "./effective-roles.js";
import { endTokens, removeUser } from "./store/identity-store.js";
import type { User } from "./store/records.js";

const USER = {
  default_project_id: orNull(ID),
  description: orNull(TEXT),
  domain_id: ID,
  enabled: BOOLEAN,
  password: orNull(TEXT),
  options: OPTIONS,
};

const CREATE_USER = createSchema({ name: NAME }, USER);

const UPDATE_USER = updateSchema({ name: NAME, ...USER });

const CHANGE_PASSWORD = Type.Object({ original_password: TEXT, password: TEXT }, { additionalProperties: false });

/** Keystone's `[identity] max_password_length`. */
const LONGEST_PASSWORD = 4096;

export const USER_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<User>({
    plural: "users",
    singular: "user",
    filters: ["domain_id", "enabled", "name"],
    table: (store) => store.users,
    list: ({ store }) => store.users.list(),
    create,
    update,
    remove: ({ store }, user) => removeUser(store, user.id),
    view: (_, user) => ({ ...user, password_expires_at: null }),
  }),
  { method: "POST", path: "/v3/users/:id/password", handle: changePassword },
  {
    method: "GET",
    path: "/v3/users/:id/projects",
    handle: (call) => {
      const user = userFor(call, "list_user_projects");
      const projects = projectsOf(call.store, user.id).map((project) => withLinks(call, "projects", project));
      return { body: listBody(call, "projects", projects, ["domain_id", "enabled", "name"]) };
    },
  },
  {
    method: "GET",
    path: "/v3/users/:id/groups",
    handle: (call) => {
      const user = userFor(call, "list_groups_for_user");
      const { domainId } = call.token.record;
      const groups = call.store.members
        .leftOf(user.id)
        .flatMap((id) => call.store.groups.get(id) ?? [])
        .filter((group) => domainId === null || group.domain_id === domainId)
        .map((group) => withLinks(call, "groups", group));
      return { body: listBody(call, "groups", groups, ["name"]) };
    },
  },
];

async function create(call: IdentityCall, body: unknown): Promise<User> {
  const { store, services } = call;
  const { password, ...attributes } = checkBody(CREATE_USER, body);
  const domainId = attributes.domain_id ?? call.ownDomain;
  const id = call.newId();
  const setPassword = await preparePassword(call, password);
  return store.sql.transaction(() => {
    call.requireToken();
    const domain = store.domain(domainId);
    if (!domain) {
      throw notFound("domain", domainId);
    }
    const name = attributes.name.trim();
    const user: User = { enabled: true, options: {}, ...attributes, name, id, domain_id: domain.id };
    assertUniqueName(call, user);
    setPassword?.(user.id);
    services.tokens.revokeAll(user.id);
    return store.users.insert(user);
  });
}

async function update(call: IdentityCall, { id }: User, body: unknown): Promise<User> {
  const { store, services } = call;
  const { password, ...changes } = checkBody(UPDATE_USER, body);
  const setPassword = await preparePassword(call, password);
  return store.sql.transaction(() => {
    // The user may have changed, or the token ended, while the password was hashed.
    call.requireToken();
    const before = store.users.get(id);
    if (!before) {
      throw notFound("user", id);
    }
    const after: User = { ...before, ...changes, name: (changes.name ?? before.name).trim() };
    assertUniqueName(call, after);
    if (password !== undefined) {
      setPassword ? setPassword(id) : services.passwords.remove(id);
      services.tokens.revokeAll(id);
    }
    if (before.enabled && !after.enabled) {
      endTokens(store, "user", id);
    }
    return store.users.update(after);
  });
}

/** Sets a new password for a caller who proves the old one; no token is needed. */
async function changePassword(call: IdentityCall) {
  const { services, store } = call;
  const passwordChange = checkBody(CHANGE_PASSWORD, call.body("user"));
  const id = call.param("id");
  const setPassword = await preparePassword(call, passwordChange.password);
  // Checked last, since the user may have changed while the new password was hashed.
  const right = await services.passwords.matches(store.users.get(id)?.id, passwordChange.original_password);
  if (!store.users.get(id)?.enabled || !right) {
    throw unauthorized();
  }
  store.sql.transaction(() => {
    setPassword?.(id);
    services.tokens.revokeAll(id);
  });
  return { status: 204 };
}

/** @throws {HttpError} 403 */
async function preparePassword({ services }: IdentityCall, password: string | null | undefined) {
  if (password === undefined || password === null) {
    return undefined;
  }
  if (password.length > LONGEST_PASSWORD) {
    throw new HttpError(
      403,
      `The password length must be less than or equal to ${LONGEST_PASSWORD}. The server could not comply with the request because the password is invalid.`,
    );
  }
  return await services.passwords.prepare(password);
}

function assertUniqueName({ store }: IdentityCall, { id, name, domain_id: domainId }: User): void {
  const other = store.users.named(name, domainId);
  if (other && other.id !== id) {
    throw conflict("user", `Duplicate entry found with name ${name} at domain ID ${domainId}`);
  }
}

function userFor(call: IdentityCall, action: string): User {
  const user = call.store.users.get(call.param("id"));
  call.enforce(`identity:${action}`, targetOf("user", user));
  if (!user) {
    throw notFound("user", call.param("id"));
  }
  return user;
}
