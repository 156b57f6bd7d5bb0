import type { Sql } from "../../database/sql.js";

/** A record as the API returns it, without links. Clients may add members to most kinds. */
export interface StoredRecord {
  readonly id: string;
}

/** A table of JSON documents of one kind. */
export class RecordTable<T extends StoredRecord> {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #changed: () => void;

  /** @param changed called for each write */
  constructor(sql: Sql, table: string, changed: () => void) {
    this.#sql = sql;
    this.#table = table;
    this.#changed = changed;
  }

  /** Finds a record by its id, ignoring case, as Keystone's database does. */
  get(id: string): T | undefined {
    const text = `SELECT body FROM ${this.#table} WHERE id = ?`;
    const row = this.#sql.get(text, id) ?? this.#sql.get(`${text} COLLATE NOCASE`, id);
    return record<T>(row);
  }

  /** Returns the records in order of creation. */
  list(): readonly T[] {
    return this.#sql.all(`SELECT body FROM ${this.#table} ORDER BY seq`).flatMap((row) => record<T>(row) ?? []);
  }

  /** Finds the records with this value in a member that has an index. */
  where(member: "domain_id" | "user_id" | "parent_id", value: string): readonly T[] {
    const text = `SELECT body FROM ${this.#table} WHERE json_extract(body, '$.${member}') = ? ORDER BY seq`;
    return this.#sql.all(text, value).flatMap((row) => record<T>(row) ?? []);
  }

  insert(value: T): T {
    this.#changed();
    this.#sql.run(`INSERT INTO ${this.#table} (id, body) VALUES (?, ?)`, value.id, JSON.stringify(value));
    return value;
  }

  update(value: T): T {
    this.#changed();
    this.#sql.run(`UPDATE ${this.#table} SET body = ? WHERE id = ?`, JSON.stringify(value), value.id);
    return value;
  }

  delete(id: string): void {
    this.#changed();
    this.#sql.run(`DELETE FROM ${this.#table} WHERE id = ?`, id);
  }
}

/** Records whose names are unique within a domain, ignoring case. */
export class NamedTable<T extends StoredRecord & { readonly name: string }> extends RecordTable<T> {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #changed: () => void;

  constructor(sql: Sql, table: string, changed: () => void) {
    super(sql, table, changed);
    this.#sql = sql;
    this.#table = table;
    this.#changed = changed;
  }

  /** @param domainId null for records without a domain */
  named(name: string, domainId: string | null): T | undefined {
    const domain = "coalesce(json_extract(body, '$.domain_id'), '')";
    const text = `SELECT body FROM ${this.#table} WHERE ${domain} = ?`;
    const row =
      this.#sql.get(`${text} AND json_extract(body, '$.name') = ?`, domainId ?? "", name) ??
      this.#sql.get(`${text} AND name_key = ?`, domainId ?? "", nameKey(name));
    return record<T>(row);
  }

  override insert(value: T): T {
    this.#changed();
    const text = `INSERT INTO ${this.#table} (id, body, name_key) VALUES (?, ?, ?)`;
    this.#sql.run(text, value.id, JSON.stringify(value), nameKey(value.name));
    return value;
  }

  /** Updates a record. One without a key (see {@link NamedTable.fillNameKeys}) gets a key only when its name changes. */
  override update(value: T): T {
    this.#changed();
    // The right side reads the row as it was before this statement.
    const key = "CASE WHEN name_key IS NULL AND json_extract(body, '$.name') = ? THEN NULL ELSE ? END";
    const text = `UPDATE ${this.#table} SET body = ?, name_key = ${key} WHERE id = ?`;
    this.#sql.run(text, JSON.stringify(value), value.name, nameKey(value.name), value.id);
    return value;
  }

  /**
   * Adds keys to records of an earlier release, whose names were case-sensitive. If several records have the same key,
   * the oldest one gets it. The others remain without a key and are found by their exact names.
   */
  fillNameKeys(): void {
    const rows = this.#sql.all(`SELECT id, body FROM ${this.#table} WHERE name_key IS NULL ORDER BY seq`);
    for (const row of rows) {
      const { id, name } = JSON.parse(String(row[1])) as T;
      this.#sql.run(`UPDATE OR IGNORE ${this.#table} SET name_key = ? WHERE id = ?`, nameKey(name), id);
    }
  }
}

function record<T>(row: readonly unknown[] | undefined): T | undefined {
  return row === undefined ? undefined : (JSON.parse(String(row[0])) as T);
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
