import { isObject } from "../../../runtime/is-object.js";
import { expecting, IdentityError } from "../api/identity-error.js";

/** The body of POST /v3/auth/tokens, read. */
export interface TokenRequest {
  readonly methods: readonly string[];
  readonly user: UserRef | undefined;
  readonly password: string | undefined;
  readonly token: string | undefined;
  readonly applicationCredential: ApplicationCredentialRef | undefined;
  readonly scope: ScopeRef;
}

/** Names count only together with their domain. */
export interface UserRef {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly domain?: DomainRef | undefined;
}

export interface DomainRef {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** A name counts only together with its user. */
export interface ApplicationCredentialRef {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly user?: UserRef | undefined;
  readonly secret: string;
}

export type ScopeRef =
  | { readonly kind: "none" }
  | { readonly kind: "unscoped" }
  | { readonly kind: "system" }
  | { readonly kind: "domain"; readonly id?: string | undefined; readonly name?: string | undefined }
  | {
      readonly kind: "project";
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      readonly domain?: DomainRef | undefined;
    };

/** @throws {IdentityError} 400 */
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
    scope: scope(auth.scope),
  };
}

function applicationCredential(value: Readonly<Record<string, unknown>>): ApplicationCredentialRef {
  const path = "identity/application_credential";
  const { id, name } = reference(value, path);
  const user = value.user === undefined ? undefined : object(value.user, "user", "application_credential");
  return { id, name, user: user && reference(user, `${path}/user`), secret: text(value, "secret", path) };
}

function scope(value: unknown): ScopeRef {
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
  const id = optionalText(value, "id", path);
  const name = optionalText(value, "name", path);
  if (id === undefined && name === undefined) {
    throw new IdentityError(400, `Invalid input for field ${path}: id or name must be present.`);
  }
  const domain = value.domain;
  return { id, name, domain: domain === undefined ? undefined : domainReference(domain, `${path}/domain`) };
}

function domainReference(value: unknown, path: string): DomainRef {
  if (!isObject(value)) {
    throw wrongType(path, "object");
  }
  const id = optionalText(value, "id", path);
  const name = optionalText(value, "name", path);
  if (id === undefined && name === undefined) {
    throw new IdentityError(400, `Invalid input for field ${path}: id or name must be present.`);
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

/** The value itself stays out of the message: it may be a password. */
function wrongType(path: string, type: string): IdentityError {
  return new IdentityError(400, `Invalid input for field '${path}': it is not of type '${type}'`);
}
