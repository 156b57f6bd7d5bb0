import type { Directory, NamedEntity } from "./directory.js";
import { IdentityError, unauthorized } from "./identity-error.js";
import type { PasswordStore } from "./password-store.js";
import type { DomainRef, ScopeRef, TokenRequest, UserRef } from "./token-request.js";
import type { TokenRecord, TokenScope, TokenStore } from "./token-store.js";

export interface Authenticator {
  readonly directory: Directory;
  readonly passwords: PasswordStore;
  readonly tokens: TokenStore;
}

/**
 * A token for a user who proves who they are, in the scope that they ask for.
 * @throws {IdentityError} 401, whatever was wrong: the answer does not show which users or projects there are
 */
export function authenticate(
  { directory, passwords, tokens }: Authenticator,
  request: TokenRequest,
): { readonly token: string; readonly record: TokenRecord } {
  const { methods } = request;
  if (methods.length === 0 || !methods.every((method) => method === "password" || method === "token")) {
    throw new IdentityError(401, "Attempted to authenticate with an unsupported method.");
  }
  const parent = request.token === undefined ? undefined : tokens.find(request.token);
  if (methods.includes("token") && !parent) {
    throw unauthorized();
  }
  const user = findUser(directory, request.user);
  if (methods.includes("password") && !passwords.matches(user?.id, request.password ?? "")) {
    throw unauthorized();
  }
  const userId = user?.id ?? parent?.userId;
  if (userId === undefined || (parent && parent.userId !== userId)) {
    throw unauthorized();
  }
  return tokens.issue(userId, grantScope(directory, userId, request.scope, parent), methods, parent);
}

function findUser(directory: Directory, ref: UserRef | undefined): NamedEntity | undefined {
  return (
    ref && directory.users.find(({ id, name }) => id === ref.id || (name === ref.name && isOurs(directory, ref.domain)))
  );
}

function isOurs({ domain }: Directory, ref: DomainRef | undefined): boolean {
  return ref !== undefined && (ref.id === domain.id || ref.name === domain.name);
}

function grantScope(
  directory: Directory,
  userId: string,
  scope: ScopeRef,
  parent: TokenRecord | undefined,
): TokenScope {
  switch (scope.kind) {
    case "none":
      return { projectId: parent?.projectId ?? null, system: parent?.system ?? false };
    case "unscoped":
      return { projectId: null, system: false };
    case "system":
      if (directory.rolesInSystem(userId).length === 0) {
        throw unauthorized();
      }
      return { projectId: null, system: true };
    case "domain":
      throw unauthorized();
    case "project": {
      const project = directory.projects.find(
        ({ id, name }) => id === scope.id || (name === scope.name && isOurs(directory, scope.domain)),
      );
      if (!project || directory.rolesInProject(userId, project.id).length === 0) {
        throw unauthorized();
      }
      return { projectId: project.id, system: false };
    }
  }
}
