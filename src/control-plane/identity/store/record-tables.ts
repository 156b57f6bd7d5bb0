import type { Sql } from "../../database/sql.js";
import { where } from "../../resources/condition.js";
import { DocumentTable } from "../../resources/document-table.js";
import type { StoredResource } from "../../resources/resource.js";
import type { StoredRecord } from "./identity-resource.js";

/** The records of a resource of Identity. */
export class IdentityTable<R extends StoredRecord> extends DocumentTable<R> {
  readonly #changed: () => void;

  /** @param changed called for each write */
  constructor(sql: Sql, resource: StoredResource, changed: () => void) {
    super(sql, resource);
    this.#changed = changed;
  }

  /** Finds a record by its id, ignoring case, as Keystone's database does. */
  override get(id: string): R | undefined {
    return super.get(id) ?? this.first(where`id = ${id} COLLATE NOCASE`);
  }

  override insert(record: R): R {
    this.#changed();
    return super.insert(record);
  }

  override update(record: R): R {
    this.#changed();
    return super.update(record);
  }

  override delete(id: string): void {
    this.#changed();
    super.delete(id);
  }
}

/** Records whose names are unique within a domain, ignoring case. */
export class NamedTable<R extends StoredRecord & { readonly name: string }> extends IdentityTable<R> {
  /**
   * Finds a record by its exact name, else by the name's key.
   * @param domainId null for records without a domain
   */
  named(name: string, domainId: string | null): R | undefined {
    const domain = domainId ?? "";
    return (
      this.first(
        where`coalesce(json_extract(body, '$.domain_id'), '') = ${domain} AND json_extract(body, '$.name') = ${name}`,
      ) ??
      this.first(where`coalesce(json_extract(body, '$.domain_id'), '') = ${domain} AND name_key = ${nameKey(name)}`)
    );
  }
}

/** A table of pairs of ids: groups and their members, roles and those that they imply. */
export class PairTable {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #left: string;
  readonly #right: string;
  readonly #changed: () => void;

  constructor(sql: Sql, table: string, columns: readonly [left: string, right: string], changed: () => void) {
    this.#sql = sql;
    this.#table = table;
    [this.#left, this.#right] = columns;
    this.#changed = changed;
  }

  all(): readonly (readonly [left: string, right: string])[] {
    const rows = this.#sql.all(`SELECT ${this.#left}, ${this.#right} FROM ${this.#table} ORDER BY rowid`);
    return rows.map(([left, right]) => [String(left), String(right)]);
  }

  rightOf(left: string): readonly string[] {
    const text = `SELECT ${this.#right} FROM ${this.#table} WHERE ${this.#left} = ? ORDER BY rowid`;
    return this.#sql.all(text, left).map(([right]) => String(right));
  }

  leftOf(right: string): readonly string[] {
    const text = `SELECT ${this.#left} FROM ${this.#table} WHERE ${this.#right} = ? ORDER BY rowid`;
    return this.#sql.all(text, right).map(([left]) => String(left));
  }

  has(left: string, right: string): boolean {
    return this.rightOf(left).includes(right);
  }

  add(left: string, right: string): void {
    this.#changed();
    this.#sql.run(`INSERT OR IGNORE INTO ${this.#table} VALUES (?, ?)`, left, right);
  }

  remove(left: string, right: string): void {
    this.#changed();
    this.#sql.run(`DELETE FROM ${this.#table} WHERE ${this.#left} = ? AND ${this.#right} = ?`, left, right);
  }

  /** Removes all pairs that contain the id on either side. */
  removeAll(id: string): void {
    this.#changed();
    this.#sql.run(`DELETE FROM ${this.#table} WHERE ${this.#left} = ? OR ${this.#right} = ?`, id, id);
  }
}

/**
 * Returns the key by which Keystone's database compares a string. MySQL's collation `utf8_general_ci` ignores case,
 * accents of Latin and Greek letters, and trailing spaces. Strings with equal keys are equal for Keystone.
 */
export function nameKey(text: string): string {
  return Array.from(text.replace(/ +$/, ""), letterWeight).join("");
}

export function isSameName(one: string | null | undefined, other: string | null | undefined): boolean {
  return one == null || other == null ? (one ?? null) === (other ?? null) : nameKey(one) === nameKey(other);
}

function letterWeight(letter: string): string {
  const [base = letter] = letter.normalize("NFD");
  const [upper = letter] = (/[\p{Script=Latin}\p{Script=Greek}]/u.test(base) ? base : letter).toUpperCase();
  return upper;
}
