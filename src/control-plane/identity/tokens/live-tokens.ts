import type { Digests } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
import type { Credentials } from "../../credentials.js";
import { effectiveRoles, type GrantScope, SYSTEM } from "../effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { AccessRule, Project, Role, User } from "../store/records.js";
import type { TokenRecord, TokenScope, TokenStore } from "./token-store.js";

/** A valid token with its resolved records, all of which exist and are enabled. */
export interface LiveToken {
  readonly record: TokenRecord;
  readonly user: User;
  /** The user's domain. */
  readonly domain: Project;
  /** The scope; undefined for an unscoped token. */
  readonly scope: GrantScope | undefined;
  /** The project or domain of the scope. */
  readonly target: Project | undefined;
  /** The domain of the scope's project. */
  readonly targetDomain: Project | undefined;
  readonly roles: readonly Role[];
  /** Requests that the token permits; undefined: all. */
  readonly accessRules: readonly AccessRule[] | undefined;
  /** Credentials as other services use them. */
  readonly credentials: Credentials;
}

/** Max resolved tokens in the cache, which is cleared by each change of the store. */
const MAX_CACHED_TOKENS = 1000;

/** Resolves tokens. A token is invalid when its user, project, domain or last role is gone. */
export class LiveTokens {
  readonly #store: IdentityStore;
  readonly #tokens: TokenStore;
  readonly #digests: Pick<Digests, "sha256">;
  readonly #clock: Clock;
  readonly #found = new Map<string, LiveToken>();
  #changes = -1;

  constructor(
    store: IdentityStore,
    tokens: TokenStore,
    deps: { readonly clock: Clock; readonly digests: Pick<Digests, "sha256"> },
  ) {
    this.#store = store;
    this.#tokens = tokens;
    this.#clock = deps.clock;
    this.#digests = deps.digests;
  }

  /** Returns undefined if the token is unknown, revoked or expired, or its user has no role left. */
  find(token: string): LiveToken | undefined {
    const changes = this.#store.changes + this.#tokens.ended;
    if (changes !== this.#changes || this.#found.size >= MAX_CACHED_TOKENS) {
      this.#found.clear();
      this.#changes = changes;
    }
    // The token itself is never stored.
    const digest = token === "" ? "" : this.#digests.sha256(token);
    const known = this.#found.get(digest);
    if (known) {
      return known.record.expiresAt > this.#clock.now() ? known : undefined;
    }
    const record = this.#tokens.find(token);
    const live = record && liveToken(this.#store, record);
    if (live) {
      this.#found.set(digest, live);
    }
    return live;
  }
}

/**
 * A cache of values derived from a token and Identity's records. Each change of the records creates another {@link
 * LiveToken}.
 */
export class PerToken<T> {
  readonly #known = new WeakMap<LiveToken, T>();

  /** @param live as {@link LiveTokens.find} just returned it */
  of(live: LiveToken, workOut: () => T): T {
    const known = this.#known.get(live) ?? workOut();
    this.#known.set(live, known);
    return known;
  }
}

export function liveToken(store: IdentityStore, record: TokenRecord): LiveToken | undefined {
  const user = store.users.get(record.userId);
  const domain = user && store.domain(user.domain_id);
  if (!user?.enabled || !domain?.enabled) {
    return undefined;
  }
  const scope = scopeOf(record);
  const target = scope && scope.target !== "system" ? store.projects.get(scope.targetId) : undefined;
  const targetDomain = target?.domain_id == null ? undefined : store.domain(target.domain_id);
  if (scope && scope.target !== "system" && (!target?.enabled || targetDomain?.enabled === false)) {
    return undefined;
  }
  const roles = scope ? rolesIn(store, record, scope) : [];
  if (scope && roles.length === 0) {
    return undefined;
  }
  const rules = store.applicationCredentials.get(record.applicationCredentialId ?? "")?.access_rules ?? [];
  const accessRules = rules.length === 0 ? undefined : rules;
  const named = { record, user, domain, scope, target, targetDomain, roles, accessRules };
  return { ...named, credentials: credentialsOf(named) };
}

export function scopeOf({ projectId, domainId, system }: TokenScope): GrantScope | undefined {
  if (projectId !== null) {
    return { target: "project", targetId: projectId };
  }
  if (domainId !== null) {
    return { target: "domain", targetId: domainId };
  }
  return system ? SYSTEM : undefined;
}

/** Returns the token's roles. An application credential passes on those of its roles that its user still has. */
function rolesIn(store: IdentityStore, record: TokenRecord, scope: GrantScope): readonly Role[] {
  const roles = effectiveRoles(store, record.userId, scope);
  const more = record.moreRoles.flatMap((name) => store.roles.named(name, null) ?? []);
  if (record.applicationCredentialId === null) {
    return [...roles, ...more];
  }
  const passed = store.applicationCredentials.get(record.applicationCredentialId)?.roles ?? [];
  return [...roles.filter(({ id }) => passed.includes(id)), ...more];
}

function credentialsOf({ record, user, domain, target, roles }: Omit<LiveToken, "credentials">): Credentials {
  const project = target?.is_domain === false ? target : undefined;
  return {
    userId: user.id,
    userName: user.name,
    projectId: project?.id ?? null,
    projectName: project?.name ?? null,
    domainId: domain.id,
    domainScope: record.domainId,
    // Other services have no resources for administrators of a domain, and by role name they would be administrators of
    // the cloud.
    roles: record.domainId === null ? roles.map(({ name }) => name.toLowerCase()) : [],
    systemScope: record.system ? "all" : null,
    expiresAt: record.expiresAt,
  };
}
