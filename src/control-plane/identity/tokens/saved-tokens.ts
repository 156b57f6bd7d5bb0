import type { Sql } from "../../database/sql.js";

const COLUMNS =
  "digest, user_id, project_id, system, methods, audit_ids, issued_at, expires_at, domain_id, application_credential_id, more_roles";

/** Tokens that are to be valid in another state of the same cluster. */
export interface RetainedTokens {
  /** Forgets the tokens of users that are gone; a token whose credential is gone is not valid anyway. */
  putInto(sql: Sql): void;
}

/** All tokens that have been issued: who has one need not log in again when the state around it changes. */
export function tokensOf(sql: Sql): RetainedTokens {
  const rows = sql.all(`SELECT ${COLUMNS} FROM identity_tokens`);
  return {
    putInto: (other) =>
      other.transaction(() => {
        for (const row of rows) {
          const values = row.map(() => "?").join(", ");
          other.run(`INSERT OR IGNORE INTO identity_tokens (${COLUMNS}) VALUES (${values})`, ...row);
        }
      }),
  };
}
