import type { Clock } from "../../runtime/clock.js";
import type { Digests } from "../../runtime/digests.js";
import type { Random } from "../../runtime/random.js";
import { equalInConstantTime } from "../constant-time.js";
import type { Sql, SqlRow } from "../store/sql.js";

export interface TokenScope {
  readonly projectId: string | null;
  readonly system: boolean;
}

export interface TokenRecord extends TokenScope {
  readonly userId: string;
  readonly methods: readonly string[];
  /** The token's own, then that of the first token of the chain. */
  readonly auditIds: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** Seconds; `[token] expiration` of Keystone. */
const TOKEN_LIFETIME = 3600;

/**
 * Over this many live tokens the oldest ones go.
 * @internal for tests
 */
export const MAX_LIVE_TOKENS = 50_000;

const MAX_TOKEN_LENGTH = 512;
/** Tokens that are remembered when they have been read. */
const MOST_FOUND = 1000;
const COLUMNS = "user_id, project_id, system, methods, audit_ids, issued_at, expires_at";

/** Tokens: opaque to the client, kept as digests, so that neither the file nor a backup of it lets anybody in. */
export class TokenStore {
  readonly #sql: Sql;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #digests: Digests;
  /** By digest: what was found lately. Nobody else writes the table. */
  readonly #found = new Map<string, TokenRecord>();

  constructor(sql: Sql, doors: { readonly clock: Clock; readonly random: Random; readonly digests: Digests }) {
    this.#sql = sql;
    this.#clock = doors.clock;
    this.#random = doors.random;
    this.#digests = doors.digests;
  }

  /** @param parent the token that was shown instead of a password: its end and its chain are kept */
  issue(
    userId: string,
    scope: TokenScope,
    methods: readonly string[],
    parent?: TokenRecord,
  ): { readonly token: string; readonly record: TokenRecord } {
    const now = this.#clock.now();
    const token = `gAAAAAB${this.#random.hex(88)}`;
    const record: TokenRecord = {
      userId,
      projectId: scope.projectId,
      system: scope.system,
      methods: [...new Set([...methods, ...(parent?.methods ?? [])])],
      auditIds: [this.#random.hex(11), ...(parent?.auditIds.slice(-1) ?? [])],
      issuedAt: now,
      expiresAt: parent?.expiresAt ?? now + TOKEN_LIFETIME * 1000,
    };
    this.#found.clear();
    this.#sql.transaction(() => {
      this.#sql.run("DELETE FROM identity_tokens WHERE expires_at <= ?", now);
      this.#sql.run(
        `INSERT INTO identity_tokens (digest, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        this.#digests.sha256(token),
        userId,
        record.projectId,
        record.system ? 1 : 0,
        record.methods.join(" "),
        record.auditIds.join(" "),
        record.issuedAt,
        record.expiresAt,
      );
      this.#sql.run(
        "DELETE FROM identity_tokens WHERE digest IN (SELECT digest FROM identity_tokens ORDER BY expires_at DESC, issued_at DESC LIMIT -1 OFFSET ?)",
        MAX_LIVE_TOKENS,
      );
    });
    return { token, record };
  }

  /** Undefined: unknown, revoked or expired. */
  find(token: string): TokenRecord | undefined {
    if (token === "" || token.length > MAX_TOKEN_LENGTH) {
      return undefined;
    }
    const digest = this.#digests.sha256(token);
    const record = this.#found.get(digest) ?? this.#read(digest);
    return record && record.expiresAt > this.#clock.now() ? record : undefined;
  }

  #read(digest: string): TokenRecord | undefined {
    const row = this.#sql.get(`SELECT digest, ${COLUMNS} FROM identity_tokens WHERE digest = ?`, digest);
    if (!row || !equalInConstantTime(String(row[0]), digest)) {
      return undefined;
    }
    const record = toRecord(row.slice(1));
    if (this.#found.size >= MOST_FOUND) {
      this.#found.clear();
    }
    this.#found.set(digest, record);
    return record;
  }

  revoke(token: string): void {
    this.#found.clear();
    this.#sql.run("DELETE FROM identity_tokens WHERE digest = ?", this.#digests.sha256(token));
  }

  /** All of a user, when the password has changed. */
  revokeAll(userId: string): void {
    this.#found.clear();
    this.#sql.run("DELETE FROM identity_tokens WHERE user_id = ?", userId);
  }
}

function toRecord([userId, projectId, system, methods, auditIds, issuedAt, expiresAt]: SqlRow): TokenRecord {
  return {
    userId: String(userId),
    projectId: projectId === null || projectId === undefined ? null : String(projectId),
    system: Number(system) === 1,
    methods: String(methods).split(" "),
    auditIds: String(auditIds).split(" "),
    issuedAt: Number(issuedAt),
    expiresAt: Number(expiresAt),
  };
}
