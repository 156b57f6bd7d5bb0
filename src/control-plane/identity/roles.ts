import { HttpError } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, notFound } from "./api/identity-error.js";
import {
  checkBody,
  createSchema,
  ID,
  NAME,
  OPTIONS,
  orNull,
  resourceRoutes,
  TEXT,
  updateSchema,
} from "./api/resource-routes.js";
import { withImplied } from "./effective-roles.js";
import { removeRole } from "./store/identity-store.js";
import type { Role } from "./store/records.js";

interface Rule {
  readonly prior: Role;
  readonly implied: Role;
}

const RULES = "/v3/roles/:id/implies";

const RULE = `${RULES}/:implied`;

/** Routes of role inferences: a user who has the prior role also has the implied role. */
const IMPLIED_ROLE_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/role_inferences",
    handle: (call) => {
      call.enforce("identity:list_role_inference_rules");
      const priors = [...new Set(call.store.impliedRoles.all().map(([prior]) => prior))];
      const inferences = priors.map((id) => inference(call, roleOf(call, id)));
      return { body: { role_inferences: inferences, links: { self: call.url } } };
    },
  },
  {
    method: "GET",
    path: RULES,
    handle: (call) => {
      call.enforce("identity:list_implied_roles");
      const prior = roleOf(call, call.param("id"));
      return { body: { role_inference: inference(call, prior), links: { self: call.url } } };
    },
  },
  {
    method: "GET",
    path: RULE,
    handle: (call) => {
      call.enforce("identity:get_implied_role");
      return { body: ruleBody(call, knownRule(call)) };
    },
  },
  {
    method: "HEAD",
    path: RULE,
    handle: (call) => {
      call.enforce("identity:check_implied_role");
      knownRule(call);
      return { status: 204 };
    },
  },
  {
    method: "PUT",
    path: RULE,
    handle: (call) => {
      call.enforce("identity:create_implied_role");
      const rule = bothRoles(call);
      assertValidRule(call, rule);
      call.store.impliedRoles.add(rule.prior.id, rule.implied.id);
      return { status: 201, body: ruleBody(call, rule) };
    },
  },
  {
    method: "DELETE",
    path: RULE,
    handle: (call) => {
      call.enforce("identity:delete_implied_role");
      const { prior, implied } = knownRule(call);
      call.store.impliedRoles.remove(prior.id, implied.id);
      return { status: 204 };
    },
  },
];

const ROLE = { description: orNull(TEXT), options: OPTIONS };

const CREATE = createSchema({ name: NAME }, { ...ROLE, domain_id: orNull(ID) });

const UPDATE = updateSchema({ name: NAME, ...ROLE });

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

function roleOf({ store }: IdentityCall, id: string): Role {
  const role = store.roles.get(id);
  if (!role) {
    throw notFound("role", id);
  }
  return role;
}

function bothRoles(call: IdentityCall): Rule {
  return { prior: roleOf(call, call.param("id")), implied: roleOf(call, call.param("implied")) };
}

function knownRule(call: IdentityCall): Rule {
  const rule = bothRoles(call);
  if (!call.store.impliedRoles.has(rule.prior.id, rule.implied.id)) {
    throw new HttpError(404, `${rule.prior.id} does not imply ${rule.implied.id}.`);
  }
  return rule;
}

/**
 * Rejects rules that imply `admin`, form a cycle, or lead from a global role to a role of a domain.
 * @throws {HttpError} 403
 */
function assertValidRule({ store }: IdentityCall, { prior, implied }: Rule): void {
  if (implied.name === "admin") {
    throw new HttpError(403, `${implied.id} cannot be an implied roles.`);
  }
  if (prior.domain_id === null && implied.domain_id !== null) {
    throw new HttpError(403, `Global role ${prior.id} cannot imply a domain-specific role ${implied.id}.`);
  }
  if (withImplied(store, [implied.id]).has(prior.id)) {
    throw new HttpError(403, `The rule from ${prior.id} to ${implied.id} would be circular.`);
  }
}

function roleView(call: IdentityCall, { id, name }: Role): Json {
  return { id, name, links: { self: `${call.root}/roles/${id}` } };
}

function inference(call: IdentityCall, prior: Role): Json {
  const implies = call.store.impliedRoles.rightOf(prior.id).map((id) => roleView(call, roleOf(call, id)));
  return { prior_role: roleView(call, prior), implies };
}

function ruleBody(call: IdentityCall, { prior, implied }: Rule): Json {
  const rule = { prior_role: roleView(call, prior), implies: roleView(call, implied) };
  return { role_inference: rule, links: { self: call.url } };
}
