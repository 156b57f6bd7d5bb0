import { type Digests, equalInConstantTime, type Random } from "../../../runtime/cryptography.js";
import type { Clock } from "../../../runtime/time.js";
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
  /** The application credential that authenticated the user. */
  readonly applicationCredentialId: string | null;
  /** Names of additional roles that the user does not have. */
  readonly moreRoles: readonly string[];
  /** The token's own audit id, then that of the first token of the chain. */
  readonly auditIds: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Details of a token that was not issued for a password alone. */
export interface TokenOrigin {
  /** The presented token. The new one has the same expiry and chain. */
  readonly parent?: TokenRecord | undefined;
  readonly applicationCredentialId?: string;
  /** Names of additional roles that the user does not have. */
  readonly moreRoles?: readonly string[];
  /** Latest expiry, milliseconds since the epoch. */
  readonly end?: number;
}

/** Seconds; Keystone's `[token] expiration`. */
const TOKEN_LIFETIME = 3600;

/**
 * Max live tokens; beyond it, the oldest ones are deleted.
 * @internal for tests
 */
export const MAX_LIVE_TOKENS = 50_000;

const MAX_TOKEN_LENGTH = 512;

const COLUMNS =
  "user_id, project_id, domain_id, system, methods, application_credential_id, more_roles, audit_ids, issued_at, expires_at";

/** Issued tokens. Only digests are stored, so the database and its backups contain no usable token. */
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

  /** Number of times that tokens were ended before their expiry. */
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

  /** Counts before sorting the tokens, since this runs at each login. */
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

  /** Returns undefined if the token is unknown, revoked or expired. */
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

  /** Revokes all tokens of a user, for a changed password. */
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

/** Tokens that stay valid when another state of the same cluster is loaded. */
export interface RetainedTokens {
  /** Stores the tokens except those of deleted users. A token without its application credential is invalid anyway. */
  putInto(sql: Sql): void;
}

/** Returns all issued tokens, so that users need not log in again after a restore. */
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
