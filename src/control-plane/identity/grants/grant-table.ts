import type { Sql, SqlRow } from "../../database/sql.js";

export interface Grant {
  readonly actor: "user" | "group";
  readonly actorId: string;
  readonly target: "project" | "domain" | "system";
  /** `system` for the whole deployment. */
  readonly targetId: string;
  readonly roleId: string;
  /** It holds in the projects below the target, and not in the target itself. */
  readonly inherited: boolean;
}

const COLUMNS = "actor, actor_id, target, target_id, role_id, inherited";
const SAME = "actor = ? AND actor_id = ? AND target = ? AND target_id = ? AND role_id = ? AND inherited = ?";

/** Each role as it was given: to whom, and where. */
export class GrantTable {
  readonly #sql: Sql;
  readonly #changed: () => void;

  constructor(sql: Sql, changed: () => void) {
    this.#sql = sql;
    this.#changed = changed;
  }

  all(): readonly Grant[] {
    return this.#sql.all(`SELECT ${COLUMNS} FROM identity_grants ORDER BY rowid`).map(toGrant);
  }

  of(actor: Grant["actor"], actorId: string): readonly Grant[] {
    const text = `SELECT ${COLUMNS} FROM identity_grants WHERE actor = ? AND actor_id = ? ORDER BY rowid`;
    return this.#sql.all(text, actor, actorId).map(toGrant);
  }

  has(grant: Grant): boolean {
    return this.#sql.get(`SELECT 1 FROM identity_grants WHERE ${SAME}`, ...values(grant)) !== undefined;
  }

  add(grant: Grant): void {
    this.#changed();
    this.#sql.run(`INSERT OR IGNORE INTO identity_grants (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`, ...values(grant));
  }

  remove(grant: Grant): void {
    this.#changed();
    this.#sql.run(`DELETE FROM identity_grants WHERE ${SAME}`, ...values(grant));
  }

  removeOf(actor: Grant["actor"], actorId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE actor = ? AND actor_id = ?", actor, actorId);
  }

  removeAt(targetId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE target <> 'system' AND target_id = ?", targetId);
  }

  removeRole(roleId: string): void {
    this.#changed();
    this.#sql.run("DELETE FROM identity_grants WHERE role_id = ?", roleId);
  }
}

type GrantValues = [string, string, string, string, string, number];

function values({ actor, actorId, target, targetId, roleId, inherited }: Grant): GrantValues {
  return [actor, actorId, target, targetId, roleId, inherited ? 1 : 0];
}

function toGrant([actor, actorId, target, targetId, roleId, inherited]: SqlRow): Grant {
  return {
    actor: actor as Grant["actor"],
    actorId: String(actorId),
    target: target as Grant["target"],
    targetId: String(targetId),
    roleId: String(roleId),
    inherited: inherited === 1,
  };
}
