import { forbidden, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { assertUniqueName, requireRecord, resourceRoutes } from "./api/resource-routes.js";
import { withImplied } from "./effective-roles.js";
import { removeRole } from "./store/identity-store.js";
import { ROLES, type Role } from "./store/records.js";

interface Rule {
  readonly prior: Role;
  readonly implied: Role;
}

/** Routes of role inferences: a user who has the prior role also has the implied role. */
const IMPLIED_ROLE_ROUTES = routes<IdentityRoute>({
  "GET /v3/role_inferences": (call) => {
    call.enforce("identity:list_role_inference_rules");
    const priors = [...new Set(call.store.impliedRoles.all().map(([prior]) => prior))];
    const inferences = priors.map((id) => inference(call, roleOf(call, id)));
    return { body: { role_inferences: inferences, links: { self: call.url } } };
  },
  "GET /v3/roles/:id/implies": (call) => {
    call.enforce("identity:list_implied_roles");
    const prior = roleOf(call, call.param("id"));
    return { body: { role_inference: inference(call, prior), links: { self: call.url } } };
  },
  "GET /v3/roles/:id/implies/:implied": (call) => {
    call.enforce("identity:get_implied_role");
    return { body: ruleBody(call, knownRule(call)) };
  },
  "HEAD /v3/roles/:id/implies/:implied": (call) => {
    call.enforce("identity:check_implied_role");
    knownRule(call);
    return { status: 204 };
  },
  "PUT /v3/roles/:id/implies/:implied": (call) => {
    call.enforce("identity:create_implied_role");
    const rule = bothRoles(call);
    assertValidRule(call, rule);
    call.store.impliedRoles.add(rule.prior.id, rule.implied.id);
    return { status: 201, body: ruleBody(call, rule) };
  },
  "DELETE /v3/roles/:id/implies/:implied": (call) => {
    call.enforce("identity:delete_implied_role");
    const { prior, implied } = knownRule(call);
    call.store.impliedRoles.remove(prior.id, implied.id);
    return { status: 204 };
  },
});

export const ROLE_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(ROLES, {
    table: (store) => store.roles,
    list: ({ store, query }) =>
      query.get("domain_id") === undefined ? store.roles.findBy({ domain_id: null }) : store.roles.list(),
    create: (call, attributes) => {
      const { store } = call;
      const { domain_id: domainId = null } = attributes;
      const domain = domainId === null ? null : requireRecord("domain", domainId, store.domain(domainId));
      const more = { description: attributes.description ?? null, options: attributes.options ?? {} };
      const role = { ...attributes, ...more, id: call.newId(), domain_id: domain?.id ?? null };
      assertUniqueName("role", store.roles, role);
      return store.roles.insert(role);
    },
    update: ({ store }, role, changes) => {
      const after = { ...role, ...changes, options: { ...role.options, ...changes.options } };
      assertUniqueName("role", store.roles, after);
      return store.roles.update(after);
    },
    remove: ({ store }, role) => removeRole(store, role.id),
  }),
  ...IMPLIED_ROLE_ROUTES,
];

function roleOf({ store }: IdentityCall, id: string): Role {
  return requireRecord("role", id, store.roles.get(id));
}

function bothRoles(call: IdentityCall): Rule {
  return { prior: roleOf(call, call.param("id")), implied: roleOf(call, call.param("implied")) };
}

function knownRule(call: IdentityCall): Rule {
  const rule = bothRoles(call);
  if (!call.store.impliedRoles.has(rule.prior.id, rule.implied.id)) {
    throw notFound(`${rule.prior.id} does not imply ${rule.implied.id}.`);
  }
  return rule;
}

/**
 * Rejects rules that imply `admin`, form a cycle, or lead from a global role to a role of a domain.
 * @throws {HttpError} 403
 */
function assertValidRule({ store }: IdentityCall, { prior, implied }: Rule): void {
  if (implied.name === "admin") {
    throw forbidden(`${implied.id} cannot be an implied roles.`);
  }
  if (prior.domain_id === null && implied.domain_id !== null) {
    throw forbidden(`Global role ${prior.id} cannot imply a domain-specific role ${implied.id}.`);
  }
  if (withImplied(store, [implied.id]).has(prior.id)) {
    throw forbidden(`The rule from ${prior.id} to ${implied.id} would be circular.`);
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
