import type { Digests } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
import type { Credentials } from "../../credentials.js";
import { effectiveRoles, type GrantScope, SYSTEM } from "../effective-roles.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { AccessRule, Project, Role, User } from "../store/records.js";
import type { TokenRecord, TokenScope, TokenStore } from "./token-store.js";

/** A token with what its ids name, all of it there and enabled. */
export interface LiveToken {
  readonly record: TokenRecord;
  readonly user: User;
  /** The user's own. */
  readonly domain: Project;
  /** What it counts for; undefined: nothing. */
  readonly scope: GrantScope | undefined;
  /** The project or domain that it counts for. */
  readonly target: Project | undefined;
  /** The domain that the project is in. */
  readonly targetDomain: Project | undefined;
  readonly roles: readonly Role[];
  /** The requests that it is good for; undefined: all. */
  readonly accessRules: readonly AccessRule[] | undefined;
  /** For the other services. */
  readonly credentials: Credentials;
}

/** Tokens that were worked out and are remembered until something changes. */
const MAX_CACHED_TOKENS = 1000;

/** Says what a token is good for now: a token outlives no user, project, domain or last role. */
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

  /** Undefined: unknown, revoked, expired, or of somebody who has nothing any more. */
  find(token: string): LiveToken | undefined {
    const changes = this.#store.changes + this.#tokens.ended;
    if (changes !== this.#changes || this.#found.size >= MAX_CACHED_TOKENS) {
      this.#found.clear();
      this.#changes = changes;
    }
    // The token itself is kept nowhere.
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

/** Keeps what is worked out of Identity's records for the holder of a token: a change of any of them makes another live token of it. */
export class PerToken<T> {
  readonly #known = new WeakMap<LiveToken, T>();

  /** @param live as it was found now */
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

/** An application credential passes on some of the roles that its user still has. */
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
    // No other service has anything for the administrators of a domain: by name they would be those of the cloud.
    roles: record.domainId === null ? roles.map(({ name }) => name.toLowerCase()) : [],
    systemScope: record.system ? "all" : null,
    expiresAt: record.expiresAt,
  };
}
