import type { Digests, Random } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
import { equalInConstantTime } from "../../credentials.js";
import type { SqlValue } from "../../database/database-file.js";
import type { Sql, SqlRow } from "../../database/sql.js";

export interface TokenScope {
  readonly projectId: string | null;
  readonly domainId: string | null;
  readonly system: boolean;
}

export interface TokenRecord extends TokenScope {
  readonly userId: string;
  readonly methods: readonly string[];
  /** The one that was shown instead of a password. */
  readonly applicationCredentialId: string | null;
  /** Names of roles that it has besides those of its user. */
  readonly moreRoles: readonly string[];
  /** The token's own, then that of the first token of the chain. */
  readonly auditIds: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Where a token comes from besides a password. */
export interface TokenOrigin {
  /** The token that was shown: its end and its chain are kept. */
  readonly parent?: TokenRecord | undefined;
  readonly applicationCredentialId?: string;
  /** Names of roles that it has besides those of its user. */
  readonly moreRoles?: readonly string[];
  /** The latest end, milliseconds since the epoch. */
  readonly end?: number;
}

/** Seconds; `[token] expiration` of Keystone. */
const TOKEN_LIFETIME = 3600;

/**
 * Over this many live tokens the oldest ones go.
 * @internal for tests
 */
export const MAX_LIVE_TOKENS = 50_000;

const MAX_TOKEN_LENGTH = 512;

const COLUMNS =
  "user_id, project_id, domain_id, system, methods, application_credential_id, more_roles, audit_ids, issued_at, expires_at";

/** Tokens: opaque to the client, kept as digests, so that neither the file nor a backup of it lets anybody in. */
export class TokenStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #digests: Digests;
  #ended = 0;

  constructor(sql: Sql, deps: { readonly clock: Clock; readonly random: Random; readonly digests: Digests }) {
    this.#sql = sql;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#digests = deps.digests;
  }

  /** How often tokens were ended here before their time. */
  get ended(): number {
    return this.#ended;
  }

  issue(
    userId: string,
    scope: TokenScope,
    methods: readonly string[],
    { parent, applicationCredentialId, moreRoles = [], end = Number.POSITIVE_INFINITY }: TokenOrigin = {},
  ): { readonly token: string; readonly record: TokenRecord } {
    const now = this.#clock.now();
    const token = `gAAAAAB${this.#random.hex(88)}`;
    const record: TokenRecord = {
      userId,
      projectId: scope.projectId,
      domainId: scope.domainId,
      system: scope.system,
      methods: [...new Set([...methods, ...(parent?.methods ?? [])])],
      applicationCredentialId: applicationCredentialId ?? parent?.applicationCredentialId ?? null,
      moreRoles,
      auditIds: [this.#random.hex(11), ...(parent?.auditIds.slice(-1) ?? [])],
      issuedAt: now,
      expiresAt: parent?.expiresAt ?? Math.min(now + TOKEN_LIFETIME * 1000, end),
    };
    this.#sql.transaction(() => {
      this.#sql.run("DELETE FROM identity_tokens WHERE expires_at <= ?", now);
      this.#sql.run(
        `INSERT INTO identity_tokens (digest, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        this.#digests.sha256(token),
        userId,
        record.projectId,
        record.domainId,
        record.system ? 1 : 0,
        record.methods.join(" "),
        record.applicationCredentialId,
        record.moreRoles.join(" "),
        record.auditIds.join(" "),
        record.issuedAt,
        record.expiresAt,
      );
      this.#endOldest();
    });
    return { token, record };
  }

  /** Sorts the tokens only when there are too many: this is part of each login. */
  #endOldest(): void {
    const [live] = this.#sql.get("SELECT count(*) FROM identity_tokens") ?? [0];
    const over = Number(live) - MAX_LIVE_TOKENS;
    if (over > 0) {
      const { changes } = this.#sql.run(
        "DELETE FROM identity_tokens WHERE digest IN (SELECT digest FROM identity_tokens ORDER BY expires_at, issued_at LIMIT ?)",
        over,
      );
      this.#ended += changes;
    }
  }

  /** Undefined: unknown, revoked or expired. */
  find(token: string): TokenRecord | undefined {
    if (token === "" || token.length > MAX_TOKEN_LENGTH) {
      return undefined;
    }
    const digest = this.#digests.sha256(token);
    const row = this.#sql.get(`SELECT digest, ${COLUMNS} FROM identity_tokens WHERE digest = ?`, digest);
    if (!row || !equalInConstantTime(String(row[0]), digest)) {
      return undefined;
    }
    const record = toRecord(row.slice(1));
    return record.expiresAt > this.#clock.now() ? record : undefined;
  }

  revoke(token: string): void {
    this.#ended += 1;
    this.#sql.run("DELETE FROM identity_tokens WHERE digest = ?", this.#digests.sha256(token));
  }

  /** All of a user, when the password has changed. */
  revokeAll(userId: string): void {
    this.#ended += 1;
    this.#sql.run("DELETE FROM identity_tokens WHERE user_id = ?", userId);
  }
}

function toRecord(row: SqlRow): TokenRecord {
  const [userId, projectId, domainId, system, methods, credential, moreRoles, auditIds, issuedAt, expiresAt] = row;
  return {
    userId: String(userId),
    projectId: textOrNull(projectId),
    domainId: textOrNull(domainId),
    system: Number(system) === 1,
    methods: String(methods).split(" "),
    applicationCredentialId: textOrNull(credential),
    moreRoles: String(moreRoles).split(" ").filter(Boolean),
    auditIds: String(auditIds).split(" "),
    issuedAt: Number(issuedAt),
    expiresAt: Number(expiresAt),
  };
}

const textOrNull = (value: SqlValue | undefined): string | null => (typeof value === "string" ? value : null);

const ALL_COLUMNS =
  "digest, user_id, project_id, system, methods, audit_ids, issued_at, expires_at, domain_id, application_credential_id, more_roles";

/** Tokens that are to be valid in another state of the same cluster. */
export interface RetainedTokens {
  /** Forgets the tokens of users that are gone; a token whose credential is gone is not valid anyway. */
  putInto(sql: Sql): void;
}

/** All tokens that have been issued: who has one need not log in again when the state around it changes. */
export function tokensOf(sql: Sql): RetainedTokens {
  const rows = sql.all(`SELECT ${ALL_COLUMNS} FROM identity_tokens`);
  return {
    putInto: (other) =>
      other.transaction(() => {
        for (const row of rows) {
          const values = row.map(() => "?").join(", ");
          other.run(`INSERT OR IGNORE INTO identity_tokens (${ALL_COLUMNS}) VALUES (${values})`, ...row);
        }
      }),
  };
}
