import { isObject } from "../../../runtime/collections.js";
import { badRequest, forbidden, HttpError } from "../../http/http-error.js";
import { expecting, unauthorized } from "../api/identity-error.js";
import { effectiveRoles } from "../effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { PasswordStore } from "../store/password-store.js";
import { isSameName } from "../store/record-tables.js";
import type { Project, User } from "../store/records.js";
import { type LiveToken, type LiveTokens, liveToken, scopeOf } from "./live-tokens.js";
import type { TokenRecord, TokenScope, TokenStore } from "./token-store.js";

/** The parsed body of POST /v3/auth/tokens. */
interface TokenRequest {
  readonly methods: readonly string[];
  readonly user: UserRef | undefined;
  readonly password: string | undefined;
  readonly token: string | undefined;
  readonly applicationCredential: ApplicationCredentialRef | undefined;
  readonly scope: ScopeRef;
}

interface DomainRef {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** A name is only valid with its domain. */
interface UserRef extends DomainRef {
  readonly domain?: DomainRef | undefined;
}

/** A name is only valid with its user. */
interface ApplicationCredentialRef extends DomainRef {
  readonly user?: UserRef | undefined;
  readonly secret: string;
}

type ScopeRef =
  | { readonly kind: "none" | "unscoped" | "system" }
  | ({ readonly kind: "domain" } & DomainRef)
  | ({ readonly kind: "project" } & UserRef);

export interface Authenticator {
  readonly store: IdentityStore;
  readonly passwords: PasswordStore;
  readonly tokens: TokenStore;
  readonly live: LiveTokens;
}

const METHODS = ["password", "token", "application_credential"];

const UNSCOPED: TokenScope = { projectId: null, domainId: null, system: false };

interface Issued {
  readonly token: string;
  readonly live: LiveToken;
}

/**
 * Issues a token in the requested scope to a user who authenticates.
 * @throws {HttpError} 401 for every cause, so that the response does not reveal which users or projects exist
 */
export async function authenticate(parts: Authenticator, request: TokenRequest, now: number): Promise<Issued> {
  const { methods } = request;
  if (methods.length === 0 || !methods.every((method) => METHODS.includes(method))) {
    throw new HttpError(401, "Attempted to authenticate with an unsupported method.");
  }
  if (methods.includes("application_credential")) {
    return byApplicationCredential(parts, request, now);
  }
  const { store, tokens, passwords, live } = parts;
  const user = request.user && findUser(store, request.user);
  const proved = !methods.includes("password") || (await passwords.matches(user?.id, request.password ?? ""));
  // Checked after the wait: the presented token must be valid when the new one is issued.
  const parent = request.token === undefined ? undefined : live.find(request.token);
  if (methods.includes("token") && !parent) {
    throw unauthorized();
  }
  if (parent && parent.record.applicationCredentialId !== null) {
    // Exchanging a token must not extend the rights of an application credential.
    throw forbidden(
      "You are not authorized to perform the requested action: rescope a token of an application credential.",
    );
  }
  if (!proved) {
    throw unauthorized();
  }
  const userId = user?.id ?? parent?.user.id;
  if (userId === undefined || (parent && parent.user.id !== userId)) {
    throw unauthorized();
  }
  const scope = grantScope(store, userId, request.scope, parent?.record);
  return issued(parts, tokens.issue(userId, scope, methods, { parent: parent?.record }));
}

/** Issues a token in the credential's own scope; other scopes are rejected. */
async function byApplicationCredential(
  parts: Authenticator,
  { applicationCredential: ref, methods, scope }: TokenRequest,
  now: number,
): Promise<Issued> {
  const { store, passwords, tokens } = parts;
  const credential = ref && findApplicationCredential(store, ref);
  const right = await passwords.matches(credential?.id, ref?.secret ?? "");
  if (!credential || !right || methods.length > 1 || (credential.expires ?? now + 1) <= now) {
    throw unauthorized();
  }
  if (scope.kind !== "none") {
    throw new HttpError(
      401,
      "Error authenticating with application credential: Application credentials cannot request a scope.",
    );
  }
  const end = credential.expires;
  return issued(
    parts,
    tokens.issue(credential.user_id, { ...UNSCOPED, projectId: credential.project_id }, methods, {
      applicationCredentialId: credential.id,
      ...(end === null ? {} : { end }),
    }),
  );
}

function issued(
  { store, tokens }: Authenticator,
  { token, record }: { readonly token: string; readonly record: TokenRecord },
): Issued {
  const live = liveToken(store, record);
  if (!live) {
    tokens.revoke(token);
    throw unauthorized();
  }
  return { token, live };
}

function findApplicationCredential(store: IdentityStore, ref: ApplicationCredentialRef) {
  if (ref.id !== undefined) {
    return store.applicationCredentials.get(ref.id);
  }
  const user = ref.user && findUser(store, ref.user);
  const theirs = user ? store.applicationCredentials.findBy({ user_id: user.id }) : [];
  return theirs.find(({ name }) => isSameName(name, ref.name));
}

function findUser(store: IdentityStore, ref: UserRef): User | undefined {
  if (ref.id !== undefined) {
    return store.users.get(ref.id);
  }
  const domain = findDomain(store, ref.domain);
  return domain && store.users.named(ref.name ?? "", domain.id);
}

function findDomain(store: IdentityStore, ref: DomainRef | undefined): Project | undefined {
  if (ref?.id !== undefined) {
    return store.domain(ref.id);
  }
  const found = ref?.name === undefined ? undefined : store.projects.named(ref.name, null);
  return found?.is_domain ? found : undefined;
}

function grantScope(store: IdentityStore, userId: string, ref: ScopeRef, parent: TokenRecord | undefined): TokenScope {
  const scope = requestedScope(store, userId, ref, parent);
  const at = scopeOf(scope);
  if (at && effectiveRoles(store, userId, at).length === 0) {
    throw unauthorized();
  }
  return scope;
}

function requestedScope(
  store: IdentityStore,
  userId: string,
  ref: ScopeRef,
  parent: TokenRecord | undefined,
): TokenScope {
  switch (ref.kind) {
    case "none":
      return parent ?? defaultScope(store, userId);
    case "unscoped":
      return UNSCOPED;
    case "system":
      return { ...UNSCOPED, system: true };
    case "domain": {
      const domain = findDomain(store, ref);
      if (!domain) {
        throw unauthorized();
      }
      return { ...UNSCOPED, domainId: domain.id };
    }
    case "project": {
      const domain = findDomain(store, ref.domain);
      const project =
        ref.id === undefined ? domain && store.projects.named(ref.name ?? "", domain.id) : store.projects.get(ref.id);
      if (!project) {
        throw unauthorized();
      }
      return { ...UNSCOPED, projectId: project.id };
    }
  }
}

/** Returns the user's default project if it is enabled and the user has a role in it. */
function defaultScope(store: IdentityStore, userId: string): TokenScope {
  const projectId = store.users.get(userId)?.default_project_id;
  const project = projectId == null ? undefined : store.projects.get(projectId);
  const usable =
    project?.enabled === true &&
    store.domain(project.domain_id ?? "")?.enabled === true &&
    effectiveRoles(store, userId, { target: "project", targetId: project.id }).length > 0;
  return usable ? { ...UNSCOPED, projectId: project.id } : UNSCOPED;
}

/** @throws {HttpError} 400 */
export function readTokenRequest(body: unknown): TokenRequest {
  const auth = object(isObject(body) ? body.auth : undefined, "auth", "request body");
  const identity = object(auth.identity, "identity", "auth");
  const methods = identity.methods;
  if (!Array.isArray(methods) || !methods.every((method) => typeof method === "string")) {
    throw wrongType("identity/methods", "array of strings");
  }
  const password = methods.includes("password") ? object(identity.password, "password", "identity") : undefined;
  const user = password ? object(password.user, "user", "password") : undefined;
  const tokenMethod = methods.includes("token") ? object(identity.token, "token", "identity") : undefined;
  const delegated = methods.includes("application_credential")
    ? object(identity.application_credential, "application_credential", "identity")
    : undefined;
  return {
    methods,
    user: user ? reference(user, "identity/password/user") : undefined,
    password: user ? text(user, "password", "identity/password/user") : undefined,
    token: tokenMethod ? text(tokenMethod, "id", "identity/token") : undefined,
    applicationCredential: delegated ? applicationCredential(delegated) : undefined,
    scope: readScope(auth.scope),
  };
}

function applicationCredential(value: Readonly<Record<string, unknown>>): ApplicationCredentialRef {
  const path = "identity/application_credential";
  const { id, name } = reference(value, path);
  const user = value.user === undefined ? undefined : object(value.user, "user", "application_credential");
  return { id, name, user: user && reference(user, `${path}/user`), secret: text(value, "secret", path) };
}

function readScope(value: unknown): ScopeRef {
  if (value === undefined || value === null) {
    return { kind: "none" };
  }
  if (value === "unscoped") {
    return { kind: "unscoped" };
  }
  if (!isObject(value)) {
    throw wrongType("scope", "object");
  }
  if (isObject(value.project)) {
    return { kind: "project", ...reference(value.project, "scope/project") };
  }
  if (value.system !== undefined) {
    if (!isObject(value.system) || value.system.all !== true) {
      throw expecting("all", "system");
    }
    return { kind: "system" };
  }
  if (value.domain !== undefined) {
    return { kind: "domain", ...domainReference(value.domain, "scope/domain") };
  }
  if (value.unscoped !== undefined) {
    return { kind: "unscoped" };
  }
  throw expecting("project, domain or system", "scope");
}

function reference(value: Readonly<Record<string, unknown>>, path: string): UserRef {
  const { domain } = value;
  const named = domainReference(value, path);
  return { ...named, domain: domain === undefined ? undefined : domainReference(domain, `${path}/domain`) };
}

function domainReference(value: unknown, path: string): DomainRef {
  if (!isObject(value)) {
    throw wrongType(path, "object");
  }
  const id = optionalText(value, "id", path);
  const name = optionalText(value, "name", path);
  if (id === undefined && name === undefined) {
    throw badRequest(`Invalid input for field ${path}: id or name must be present.`);
  }
  return { id, name };
}

function object(value: unknown, attribute: string, target: string): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) {
    throw expecting(attribute, target);
  }
  if (!isObject(value)) {
    throw wrongType(attribute, "object");
  }
  return value;
}

function text(value: Readonly<Record<string, unknown>>, key: string, path: string): string {
  const found = optionalText(value, key, path);
  if (found === undefined) {
    throw expecting(key, path.split("/").at(-1) ?? path);
  }
  return found;
}

function optionalText(value: Readonly<Record<string, unknown>>, key: string, path: string): string | undefined {
  const found = value[key];
  if (found !== undefined && typeof found !== "string") {
    throw wrongType(`${path}/${key}`, "string");
  }
  return found;
}

/** Creates an error without the value, which may be a password. */
function wrongType(path: string, type: string): HttpError {
  return badRequest(`Invalid input for field '${path}': it is not of type '${type}'`);
}
