import { Type } from "typebox";
import { forbidden } from "../http/http-error.js";
import { routes } from "../http/router.js";
import { checkBody } from "./api/check-body.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { unauthorized } from "./api/identity-error.js";
import {
  assertUniqueName,
  authorizedRecord,
  listBody,
  requireRecord,
  resourceRoutes,
  withLinks,
} from "./api/resource-routes.js";
import { projectsOf } from "./effective-roles.js";
import type { CreateOf, UpdateOf } from "./store/identity-resource.js";
import { endTokens, removeUser } from "./store/identity-store.js";
import { GROUPS, PROJECTS, TEXT, USERS, type User } from "./store/records.js";

const CHANGE_PASSWORD = Type.Object(
  { original_password: TEXT.schema, password: TEXT.schema },
  { additionalProperties: false },
);

/** Keystone's `[identity] max_password_length`. */
const LONGEST_PASSWORD = 4096;

export const USER_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(USERS, {
    table: (store) => store.users,
    create,
    update,
    remove: ({ store }, user) => removeUser(store, user.id),
    view: (_, user) => ({ ...user, password_expires_at: null }),
  }),
  ...routes<IdentityRoute>({
    "POST /v3/users/:id/password": changePassword,
    "GET /v3/users/:id/projects": (call) => {
      const user = authorizedRecord(call, "user", call.store.users, "list_user_projects");
      const { domain_id, enabled, name } = PROJECTS.attributes;
      const projects = projectsOf(call.store, user.id).map((project) => withLinks(call, "projects", project));
      return { body: listBody(call, "projects", projects, { domain_id, enabled, name }) };
    },
    "GET /v3/users/:id/groups": (call) => {
      const user = authorizedRecord(call, "user", call.store.users, "list_groups_for_user");
      const { domainId } = call.token.record;
      const groups = call.store.members
        .leftOf(user.id)
        .flatMap((id) => call.store.groups.get(id) ?? [])
        .filter((group) => domainId === null || group.domain_id === domainId)
        .map((group) => withLinks(call, "groups", group));
      return { body: listBody(call, "groups", groups, { name: GROUPS.attributes.name }) };
    },
  }),
];

async function create(
  call: IdentityCall,
  { password, ...attributes }: CreateOf<typeof USERS.attributes>,
): Promise<User> {
  const { store, services } = call;
  const domainId = attributes.domain_id ?? call.ownDomain;
  const id = call.newId();
  const setPassword = await preparePassword(call, password);
  return store.sql.transaction(() => {
    call.requireToken();
    const domain = requireRecord("domain", domainId, store.domain(domainId));
    const name = attributes.name.trim();
    const user: User = { enabled: true, options: {}, ...attributes, name, id, domain_id: domain.id };
    assertUniqueName("user", store.users, user);
    setPassword?.(user.id);
    services.tokens.revokeAll(user.id);
    return store.users.insert(user);
  });
}

async function update(
  call: IdentityCall,
  { id }: User,
  { password, ...changes }: UpdateOf<typeof USERS.attributes>,
): Promise<User> {
  const { store, services } = call;
  const setPassword = await preparePassword(call, password);
  return store.sql.transaction(() => {
    // The user may have changed, or the token ended, while the password was hashed.
    call.requireToken();
    const before = requireRecord("user", id, store.users.get(id));
    const after: User = { ...before, ...changes, name: (changes.name ?? before.name).trim() };
    assertUniqueName("user", store.users, after);
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

async function preparePassword({ services }: IdentityCall, password: string | null | undefined) {
  if (password === undefined || password === null) {
    return undefined;
  }
  if (password.length > LONGEST_PASSWORD) {
    throw forbidden(
      `The password length must be less than or equal to ${LONGEST_PASSWORD}. The server could not comply with the request because the password is invalid.`,
    );
  }
  return await services.passwords.prepare(password);
}
