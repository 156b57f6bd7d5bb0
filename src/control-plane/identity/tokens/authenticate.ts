import { IdentityError, unauthorized } from "../api/identity-error.js";
import { effectiveRoles } from "../grants/effective-roles.js";
import { isSameName } from "../name-key.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { Project, User } from "../store/records.js";
import type { PasswordStore } from "../users/password-store.js";
import { type LiveToken, type LiveTokens, liveToken, scopeOf } from "./live-tokens.js";
import type { ApplicationCredentialRef, DomainRef, ScopeRef, TokenRequest, UserRef } from "./token-request.js";
import type { TokenRecord, TokenScope, TokenStore } from "./token-store.js";

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
 * A token for a user who proves who they are, in the scope that they ask for.
 * @throws {IdentityError} 401, whatever was wrong: the answer does not show which users or projects there are
 */
export async function authenticate(parts: Authenticator, request: TokenRequest, now: number): Promise<Issued> {
  const { methods } = request;
  if (methods.length === 0 || !methods.every((method) => METHODS.includes(method))) {
    throw new IdentityError(401, "Attempted to authenticate with an unsupported method.");
  }
  if (methods.includes("application_credential")) {
    return byApplicationCredential(parts, request, now);
  }
  const { store, tokens, passwords, live } = parts;
  const user = request.user && findUser(store, request.user);
  const proved = !methods.includes("password") || (await passwords.matches(user?.id, request.password ?? ""));
  // After the wait: the token that was shown, too, has to be good when the new one is issued.
  const parent = request.token === undefined ? undefined : live.find(request.token);
  if (methods.includes("token") && !parent) {
    throw unauthorized();
  }
  if (parent && parent.record.applicationCredentialId !== null) {
    // What an application credential may do grows by no exchange.
    throw new IdentityError(
      403,
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

/** The scope is the credential's own: asking for another one is refused. */
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
    throw new IdentityError(
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
  const theirs = user ? store.applicationCredentials.where("user_id", user.id) : [];
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

/** @throws {IdentityError} 401 without a role there */
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

/** The user's default project, if there is one that they have a role in and may use. */
function defaultScope(store: IdentityStore, userId: string): TokenScope {
  const projectId = store.users.get(userId)?.default_project_id;
  const project = projectId == null ? undefined : store.projects.get(projectId);
  const usable =
    project?.enabled === true &&
    store.domain(project.domain_id ?? "")?.enabled === true &&
    effectiveRoles(store, userId, { target: "project", targetId: project.id }).length > 0;
  return usable ? { ...UNSCOPED, projectId: project.id } : UNSCOPED;
}
