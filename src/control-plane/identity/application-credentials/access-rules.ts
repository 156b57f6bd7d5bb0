import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { IdentityError, notFound } from "../api/identity-error.js";
import { listBody } from "../api/listing.js";
import type { AccessRule } from "../store/records.js";

const PATH = "/v3/users/:user/access_rules";

/** What tokens of some application credentials are good for: requests of a method, to a path, of a service. */
export const ACCESS_RULE_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: PATH,
    handle: (call) => {
      call.enforce("identity:list_access_rules", { "target.user.id": call.param("user") });
      const rules = call.store.accessRules.where("user_id", call.param("user"));
      const views = rules.map((rule) => withLink(call, rule));
      return { body: listBody(call, "access_rules", views, ["service", "path", "method"]) };
    },
  },
  {
    method: "GET",
    path: `${PATH}/:id`,
    handle: (call) => ({ body: { access_rule: withLink(call, ruleOf(call, "get")) } }),
  },
  {
    method: "DELETE",
    path: `${PATH}/:id`,
    handle: (call) => {
      const { id, user_id: userId } = ruleOf(call, "delete");
      const credentials = call.store.applicationCredentials.where("user_id", userId);
      if (credentials.some(({ access_rules: rules }) => rules.some((rule) => rule.id === id))) {
        throw new IdentityError(
          403,
          `You are not authorized to perform the requested action: May not delete access rule in use: access rule ${id} is used by an application credential.`,
        );
      }
      call.store.accessRules.delete(id);
      return { status: 204 };
    },
  },
];

export function accessRuleView({ id, service, method, path }: AccessRule) {
  return { id, service, method, path };
}

function withLink(call: IdentityCall, rule: AccessRule) {
  return { ...accessRuleView(rule), links: { self: `${call.root}/users/${rule.user_id}/access_rules/${rule.id}` } };
}

function ruleOf(call: IdentityCall, verb: "get" | "delete"): AccessRule {
  const rule = call.store.accessRules.get(call.param("id"));
  call.enforce(`identity:${verb}_access_rule`, { "target.user.id": rule?.user_id ?? call.param("user") });
  if (!rule || rule.user_id !== call.param("user")) {
    throw notFound("Access Rule", call.param("id"));
  }
  return rule;
}
