import { RE2JS } from "re2js";
import { Type } from "typebox";
import type { ServiceHandler } from "../../runtime/http-server.js";
import { badRequest, HttpError } from "../http/http-error.js";
import { authenticationRequired } from "../http/responses.js";
import { routes } from "../http/router.js";
import { isoMicroseconds, parseIsoTime } from "../http/times.js";
import { checkBody } from "./api/check-body.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, forbidden, notFound } from "./api/identity-error.js";
import { listBody } from "./api/resource-routes.js";
import { removeApplicationCredential } from "./store/identity-store.js";
import { isSameName } from "./store/record-tables.js";
import {
  ACCESS_RULES,
  type AccessRule,
  APPLICATION_CREDENTIALS,
  type ApplicationCredential,
  BOOLEAN,
  ID,
  NAME,
  orNull,
  TEXT,
} from "./store/records.js";

/** Routes of access rules. An access rule limits the tokens of an application credential to a method, path and service. */
const ACCESS_RULE_ROUTES = routes<IdentityRoute>({
  "GET /v3/users/:user/access_rules": (call) => {
    call.enforce("identity:list_access_rules", { "target.user.id": call.param("user") });
    const rules = call.store.accessRules.findBy({ user_id: call.param("user") });
    const views = rules.map((rule) => withLink(call, rule));
    return { body: listBody(call, "access_rules", views, ACCESS_RULES.attributes) };
  },
  "GET /v3/users/:user/access_rules/:id": (call) => ({ body: { access_rule: withLink(call, ruleOf(call, "get")) } }),
  "DELETE /v3/users/:user/access_rules/:id": (call) => {
    const { id, user_id: userId } = ruleOf(call, "delete");
    const credentials = call.store.applicationCredentials.findBy({ user_id: userId });
    if (credentials.some(({ access_rules: rules }) => rules.some((rule) => rule.id === id))) {
      throw new HttpError(
        403,
        `You are not authorized to perform the requested action: May not delete access rule in use: access rule ${id} is used by an application credential.`,
      );
    }
    call.store.accessRules.delete(id);
    return { status: 204 };
  },
});

const ROLE_REFERENCE = Type.Partial(Type.Object({ id: ID.schema, name: NAME.schema }), {
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: false,
});

const REQUESTED_RULE = Type.Partial(
  Type.Object({
    path: Type.String({ maxLength: 225, pattern: "^\\/.*" }),
    method: Type.String({ pattern: "^(POST|GET|HEAD|PATCH|PUT|DELETE)$" }),
    service: ID.schema,
    id: ID.schema,
  }),
  { additionalProperties: false },
);

const CREATE = Type.Object({
  name: NAME.schema,
  description: Type.Optional(orNull(TEXT).schema),
  secret: Type.Optional(orNull(TEXT).schema),
  expires_at: Type.Optional(orNull(TEXT).schema),
  roles: Type.Optional(Type.Array(ROLE_REFERENCE)),
  unrestricted: Type.Optional(BOOLEAN.schema),
  access_rules: Type.Optional(Type.Array(REQUESTED_RULE)),
});

/** Routes of application credentials: secrets for tokens of one user and project, with some of the user's roles. */
export const APPLICATION_CREDENTIAL_ROUTES: readonly IdentityRoute[] = [
  ...routes<IdentityRoute>({
    "GET /v3/users/:user/application_credentials": (call) => {
      call.enforce("identity:list_application_credentials", { "target.user.id": call.param("user") });
      const all = call.store.applicationCredentials.findBy({ user_id: call.param("user") });
      const views = all.map((one) => viewOf(call, one));
      return { body: listBody(call, "application_credentials", views, APPLICATION_CREDENTIALS.attributes) };
    },
    "POST /v3/users/:user/application_credentials": create,
    "GET /v3/users/:user/application_credentials/:id": (call) => ({
      body: { application_credential: viewOf(call, credentialOf(call, "get")) as never },
    }),
    "DELETE /v3/users/:user/application_credentials/:id": (call) => {
      const { id } = credentialOf(call, "delete");
      assertMayDelegate(call);
      call.store.sql.transaction(() => removeApplicationCredential(call.store, id));
      return { status: 204 };
    },
  }),
  ...ACCESS_RULE_ROUTES,
];

async function create(call: IdentityCall) {
  const { store, services, token } = call;
  const userId = call.param("user");
  call.enforce("identity:create_application_credential", { "target.user.id": userId });
  const requested = checkBody(CREATE, call.body("application_credential"));
  assertMayDelegate(call);
  const projectId = token.record.projectId;
  if (projectId === null) {
    throw forbidden("identity:create_application_credential");
  }
  const roles = rolesFor(call, requested.roles);
  const expires = expiry(call, requested.expires_at);
  const secret = requested.secret || services.random.hex(43);
  const setSecret = await services.passwords.prepare(secret);
  const credential = store.sql.transaction(() => {
    call.requireToken();
    if (store.applicationCredentials.findBy({ user_id: userId }).some(({ name }) => isSameName(name, requested.name))) {
      throw conflict("application_credential", `Duplicate entry found with name ${requested.name}`);
    }
    const record = store.applicationCredentials.insert({
      id: call.newId(),
      name: requested.name,
      user_id: userId,
      description: requested.description ?? null,
      project_id: projectId,
      roles,
      unrestricted: requested.unrestricted ?? false,
      ...expires,
      access_rules: (requested.access_rules ?? []).map((rule) => accessRule(call, userId, rule)),
    });
    setSecret(record.id);
    return record;
  });
  return { status: 201, body: { application_credential: { ...viewOf(call, credential), secret } as never } };
}

/**
 * Rejects tokens of a restricted application credential: only unrestricted ones manage other credentials.
 * @throws {HttpError} 403
 */
function assertMayDelegate({ token, store }: IdentityCall): void {
  const { applicationCredentialId: id } = token.record;
  if (id !== null && store.applicationCredentials.get(id)?.unrestricted !== true) {
    throw forbidden(
      "Using method 'application_credential' is not allowed for managing additional application credentials.",
    );
  }
}

/** Returns the requested roles, which the token must have. Default: all roles of the token. */
function rolesFor(
  { token }: IdentityCall,
  requestedRoles: readonly { readonly id?: string; readonly name?: string }[] | undefined,
): readonly string[] {
  if (requestedRoles === undefined || requestedRoles.length === 0) {
    return token.roles.map(({ id }) => id);
  }
  return requestedRoles.map((ref) => {
    const role = token.roles.find(({ id, name }) =>
      ref.id === undefined ? isSameName(name, ref.name) : isSameName(id, ref.id),
    );
    if (!role) {
      throw badRequest("Invalid application credential: Cannot create an application credential with unassigned role");
    }
    return role.id;
  });
}

function expiry(
  { services }: IdentityCall,
  text: string | null | undefined,
): Pick<ApplicationCredential, "expires" | "expires_at"> {
  if (text === undefined || text === null) {
    return { expires: null, expires_at: null };
  }
  const time = parseIsoTime(text);
  const expires = Math.floor(time ?? 0);
  const assumed =
    "The server could not comply with the request since it is either malformed or otherwise incorrect. The client is assumed to be in error.";
  if (time === undefined) {
    throw badRequest(`Timestamp not in expected format. ${assumed}`);
  }
  if (expires <= services.clock.now()) {
    throw badRequest(`The 'expires_at' must not be before now. ${assumed}`);
  }
  return { expires, expires_at: isoMicroseconds(time) };
}

/** Returns the user's rule with that id, an equal rule, or a new one. */
function accessRule(
  call: IdentityCall,
  userId: string,
  { id, path = "", method = "", service = "" }: Partial<AccessRule>,
): AccessRule {
  const theirs = call.store.accessRules.findBy({ user_id: userId });
  if (id !== undefined) {
    const known = theirs.find((rule) => rule.id === id);
    if (!known) {
      throw notFound("Access Rule", id);
    }
    return known;
  }
  const same = theirs.find((rule) => rule.path === path && rule.method === method && rule.service === service);
  return same ?? call.store.accessRules.insert({ id: call.newId(), path, method, service, user_id: userId });
}

function credentialOf(call: IdentityCall, verb: "get" | "delete"): ApplicationCredential {
  const id = call.param("id");
  const credential = call.store.applicationCredentials.get(id);
  // Policy checks use the record's owner, not the user in the path.
  const userId = credential?.user_id ?? call.param("user");
  call.enforce(`identity:${verb}_application_credential`, { "target.user.id": userId });
  if (!credential || credential.user_id !== call.param("user")) {
    throw notFound("Application Credential", id);
  }
  return credential;
}

function viewOf(call: IdentityCall, credential: ApplicationCredential) {
  const { expires: _, access_rules: rules, roles, user_id: userId, ...rest } = credential;
  return {
    ...rest,
    roles: roles
      .flatMap((id) => call.store.roles.get(id) ?? [])
      .map(({ id, name, domain_id }) => ({ id, name, domain_id })),
    ...(rules.length === 0 ? {} : { access_rules: rules.map(accessRuleView) }),
    links: { self: `${call.root}/users/${userId}/application_credentials/${credential.id}` },
  };
}

function accessRuleView({ id, service, method, path }: AccessRule) {
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

/** Service types by mount point. */
const TYPES: Readonly<Record<string, string>> = {
  "/identity": "identity",
  "/compute": "compute",
  "/image": "image",
  "/network": "network",
  "/volume": "block-storage",
  "/placement": "placement",
  "/baremetal": "baremetal",
};

/**
 * Wraps services so that tokens with access rules can make only the requests that a rule permits. In OpenStack,
 * keystonemiddleware does this in front of a service.
 * @param rulesOf returns the rules of a token; undefined if it has none
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
 * Compiles the path of an access rule. `*` or a name in braces matches one segment, `**` any number of segments. Users
 * write these patterns, so RE2 matches them: its time is linear in the length of the path.
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
