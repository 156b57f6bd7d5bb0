import { RE2JS } from "re2js";
import type { ServiceHandler } from "../../../runtime/service.js";
import { authenticationRequired } from "../../http/responses.js";
import type { AccessRule } from "../store/records.js";

/** Types of the services by their mount points. */
const TYPES: Readonly<Record<string, string>> = {
  "/identity": "identity",
  "/compute": "compute",
  "/image": "image",
  "/network": "network",
  "/placement": "placement",
  "/baremetal": "baremetal",
};

/**
 * Lets tokens of an application credential with access rules through where a rule names the request; keystonemiddleware
 * does so in front of a service.
 * @param rulesOf the rules of a token; undefined: it has none
 */
export function withAccessRules(
  services: Readonly<Record<string, ServiceHandler>>,
  rulesOf: (token: string) => readonly AccessRule[] | undefined,
): Readonly<Record<string, ServiceHandler>> {
  return Object.fromEntries(
    Object.entries(services).map(([mount, handler]): [string, ServiceHandler] => [
      mount,
      (request) => {
        const rules = rulesOf(request.headers["x-auth-token"] ?? "");
        const { method, path } = request;
        return rules === undefined || rules.some((rule) => names(rule, TYPES[mount], method, path))
          ? handler(request)
          : authenticationRequired(request, mount);
      },
    ]),
  );
}

const PATTERNS = new WeakMap<AccessRule, RE2JS>();

function names(rule: AccessRule, type: string | undefined, method: string, path: string): boolean {
  if (rule.service !== type || rule.method !== method) {
    return false;
  }
  const expression = PATTERNS.get(rule) ?? pattern(rule.path);
  PATTERNS.set(rule, expression);
  return expression.matches(path);
}

/**
 * One star, or a name in braces, stands for a segment, two stars for any number of them. Users write it: RE2 matches it in a
 * time that grows with the length of the path and no more.
 */
function pattern(path: string): RE2JS {
  const parts = path.split(/(\*\*|\*|\{[^}/]*\})/).map((part, index) => {
    if (index % 2 === 0) {
      return RE2JS.quote(part);
    }
    return part === "**" ? ".*" : "[^/]+";
  });
  return RE2JS.compile(parts.join(""), RE2JS.DOTALL);
}
