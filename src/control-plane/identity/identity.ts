import type { Clock } from "../../runtime/clock.js";
import type { Digests } from "../../runtime/digests.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import type { Credentials } from "../credentials.js";
import type { Sql } from "../database/sql.js";
import { identityHandler } from "./identity-handler.js";
import { effectiveLimit } from "./limits/limit-rules.js";
import { stableId } from "./stable-id.js";
import { openIdentityStore, ownId, REGION, type ServiceUser } from "./store/bootstrap.js";
import { DEFAULT_DOMAIN } from "./store/new-project.js";
import { SeededIdentityStore } from "./store/user-store.js";
import { type LiveToken, LiveTokens } from "./tokens/live-tokens.js";
import { callerOf, StandIns } from "./tokens/stand-in.js";
import { TokenStore } from "./tokens/token-store.js";
import { PasswordStore } from "./users/password-store.js";

export interface IdentityOptions {
  /** The state of record's file, in which Identity keeps tables of its own. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly digests: Digests;
  readonly logger: Logger;
}

export type Identity = ReturnType<typeof createIdentity>;

export function createIdentity(options: IdentityOptions) {
  const { sql, clock, digests, random } = options;
  const store = openIdentityStore(sql, digests, clock.now());
  const tokens = new TokenStore(sql, options);
  const passwords = new PasswordStore(sql, options);
  const live = new LiveTokens(store, tokens, options);
  return {
    /** Keystone's API v3; mount it at `/identity`. */
    handle: identityHandler({ store, tokens, passwords, live, digests, random, clock }, options.logger),
    /** A token with what its ids name; undefined: it is not valid. */
    find: (token: string): LiveToken | undefined => live.find(token),
    /** Describes the holder of a token to a cluster that does not know them. */
    callerOf: (holder: LiveToken) => callerOf(store, holder),
    /** Finds or makes people whom another cluster knew, and gives them tokens. */
    standIns: new StandIns(store, tokens, () => random.hex(16)),
    validate: (token: string): Credentials | undefined => live.find(token)?.credentials,
    /** What a token of an application credential with access rules is good for; undefined: for everything. */
    accessRules: (token: string) => live.find(token)?.accessRules,
    /** What a project may have of something that one of this control plane's services gives; undefined: as much as it wants. */
    limit: (serviceType: string, resource: string, projectId: string): number | undefined => {
      const service_id = stableId(digests, `service/${serviceType}`);
      const limit = effectiveLimit(store, { service_id, region_id: REGION, resource_name: resource }, projectId);
      return limit === -1 ? undefined : limit;
    },
    hasProject: (id: string): boolean => store.projects.get(id)?.is_domain === false,
    /** Projects and users of a cluster file. */
    seededIdentities: new SeededIdentityStore(store, digests).read(),
    /** A token of project `service` with the roles `admin` and `service`. */
    issueServiceToken: (user: ServiceUser): { readonly token: string; readonly expiresAt: number } => {
      const projectId = ownId(store.projects, stableId(digests, "project/service"), "service", DEFAULT_DOMAIN);
      const userId = ownId(store.users, stableId(digests, `user/${user}`), user, DEFAULT_DOMAIN);
      const { token, record } = tokens.issue(userId, { projectId, domainId: null, system: false }, ["password"]);
      return { token, expiresAt: record.expiresAt };
    },
    /**
     * The password of a user: the one given if it is theirs, else a new one that replaces it (and ends the user's tokens).
     * Only digests are kept: who wants to know it again has to remember it.
     */
    ensurePassword: async (user: string, remembered?: string): Promise<string> => {
      const own = stableId(digests, `user/${user}`);
      // One of a cluster's own users may have been given another name.
      const userId = store.users.named(user, DEFAULT_DOMAIN)?.id ?? store.users.get(own)?.id;
      if (userId === undefined) {
        throw new Error(`Identity has no ${user}`);
      }
      if (remembered !== undefined && (await passwords.matches(userId, remembered))) {
        return remembered;
      }
      return sql.transaction(() => {
        tokens.revokeAll(userId);
        return passwords.generate(userId);
      });
    },
  };
}
