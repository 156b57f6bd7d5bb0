import type { Json } from "../../http/json.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { IdentityError, notFound } from "../api/identity-error.js";
import { withImplied } from "../grants/effective-roles.js";
import type { Role } from "../store/records.js";

const RULES = "/v3/roles/:id/implies";
const RULE = `${RULES}/:implied`;

/** A prior role gives the implied one to whoever has it. */
export const IMPLIED_ROLE_ROUTES: readonly IdentityRoute[] = [
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

interface Rule {
  readonly prior: Role;
  readonly implied: Role;
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
    throw new IdentityError(404, `${rule.prior.id} does not imply ${rule.implied.id}.`);
  }
  return rule;
}

/** No rule leads to `admin`, back to itself, or from a role of everybody to one of a domain. */
function assertValidRule({ store }: IdentityCall, { prior, implied }: Rule): void {
  if (implied.name === "admin") {
    throw new IdentityError(403, `${implied.id} cannot be an implied roles.`);
  }
  if (prior.domain_id === null && implied.domain_id !== null) {
    throw new IdentityError(403, `Global role ${prior.id} cannot imply a domain-specific role ${implied.id}.`);
  }
  if (withImplied(store, [implied.id]).has(prior.id)) {
    throw new IdentityError(403, `The rule from ${prior.id} to ${implied.id} would be circular.`);
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
