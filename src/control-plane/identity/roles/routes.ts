import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { conflict, notFound } from "../api/identity-error.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { changes, ID, members, NAME, OPTIONS, orNull, TEXT } from "../api/schema-parts.js";
import { removeRole } from "../store/cascades.js";
import type { Role } from "../store/records.js";
import { IMPLIED_ROLE_ROUTES } from "./implied-roles.js";

const ROLE = { description: orNull(TEXT), options: OPTIONS };
const CREATE = members({ name: NAME }, { ...ROLE, domain_id: orNull(ID) });
const UPDATE = changes({ name: NAME, ...ROLE });

export const ROLE_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Role>({
    plural: "roles",
    singular: "role",
    filters: ["name", "domain_id"],
    table: (store) => store.roles,
    list: ({ store, query }) =>
      store.roles.list().filter((role) => query.get("domain_id") !== undefined || role.domain_id === null),
    create: (call, body) => {
      const attributes = checkBody(CREATE, body);
      const domain = attributes.domain_id == null ? null : call.store.domain(attributes.domain_id);
      if (domain === undefined) {
        throw notFound("domain", String(attributes.domain_id));
      }
      const more = { description: attributes.description ?? null, options: attributes.options ?? {} };
      const role = { ...attributes, ...more, id: call.newId(), domain_id: domain?.id ?? null };
      assertUniqueName(call, role);
      return call.store.roles.insert(role);
    },
    update: (call, role, body) => {
      const requestedChanges = checkBody(UPDATE, body);
      const after = { ...role, ...requestedChanges, options: { ...role.options, ...requestedChanges.options } };
      assertUniqueName(call, after);
      return call.store.roles.update(after);
    },
    remove: ({ store }, role) => removeRole(store, role.id),
  }),
  ...IMPLIED_ROLE_ROUTES,
];

function assertUniqueName({ store }: IdentityCall, { id, name, domain_id: domainId }: Role): void {
  const other = store.roles.named(name, domainId);
  if (other && other.id !== id) {
    throw conflict(
      "role",
      `Duplicate entry found with name ${name}${domainId === null ? "" : ` at domain ID ${domainId}`}`,
    );
  }
}
