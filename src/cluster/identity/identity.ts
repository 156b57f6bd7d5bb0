import type { Clock } from "../../runtime/clock.js";
import type { Digests } from "../../runtime/digests.js";
import type { Random } from "../../runtime/random.js";
import type { Credentials } from "../credentials.js";
import { applySchema } from "../store/schema/apply-schema.js";
import type { Sql } from "../store/sql.js";
import { createDirectory, type ServiceUser } from "./directory.js";
import { identityHandler } from "./identity-handler.js";
import { IDENTITY_SCHEMA } from "./identity-schema.js";
import { PasswordStore } from "./password-store.js";
import { PeopleStore } from "./people-store.js";
import { TokenStore } from "./token-store.js";
import { toCredentials } from "./token-view.js";

export interface IdentityOptions {
  /** The state of record's file, in which Identity keeps tables of its own. */
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly digests: Digests;
}

export type Identity = ReturnType<typeof createIdentity>;

export function createIdentity(options: IdentityOptions) {
  const { sql, clock, digests } = options;
  applySchema(sql, "identity", IDENTITY_SCHEMA, clock.now());
  const people = new PeopleStore(sql).read();
  const directory = createDirectory(digests, people);
  const tokens = new TokenStore(sql, options);
  const passwords = new PasswordStore(sql, options);
  const idOf = (list: readonly { readonly id: string; readonly name: string }[], wanted: string): string => {
    const found = list.find(({ name }) => name === wanted);
    if (!found) {
      throw new Error(`Identity has no ${wanted}`);
    }
    return found.id;
  };
  return {
    /** Keystone's API v3; mount it at `/identity`. */
    handle: identityHandler({ directory, tokens, passwords, digests, random: options.random }),
    validate: (token: string): Credentials | undefined => {
      const record = tokens.find(token);
      return record && toCredentials(directory, record);
    },
    hasProject: (id: string): boolean => directory.projects.some((project) => project.id === id),
    /** Projects and users besides those that every cluster has. */
    people,
    /** A token of project `service` with the roles `admin` and `service`. */
    issueServiceToken: (user: ServiceUser): { readonly token: string; readonly expiresAt: number } => {
      const scope = { projectId: idOf(directory.projects, "service"), system: false };
      const { token, record } = tokens.issue(idOf(directory.users, user), scope, ["password"]);
      return { token, expiresAt: record.expiresAt };
    },
    /**
     * The password of a user: the one given if it is theirs, else a new one that replaces it (and ends the user's tokens).
     * Only digests are kept: who wants to know it again has to remember it.
     */
    ensurePassword: (user: string, remembered?: string): string => {
      const userId = idOf(directory.users, user);
      if (remembered !== undefined && passwords.matches(userId, remembered)) {
        return remembered;
      }
      return sql.transaction(() => {
        tokens.revokeAll(userId);
        return passwords.generate(userId);
      });
    },
  };
}
