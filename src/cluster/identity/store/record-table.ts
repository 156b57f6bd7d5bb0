import type { Sql } from "../../store/sql.js";

/** A record as the API shows it, without its links. Clients may add members of their own to most kinds. */
export interface StoredRecord {
  readonly id: string;
}

/** The records of one kind, each one JSON document. */
export class RecordTable<T extends StoredRecord> {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #changed: () => void;

  /** @param changed is called for each write */
  constructor(sql: Sql, table: string, changed: () => void) {
    this.#sql = sql;
    this.#table = table;
    this.#changed = changed;
  }

  get(id: string): T | undefined {
    return record<T>(this.#sql.get(`SELECT body FROM ${this.#table} WHERE id = ?`, id));
  }

  /** In the order in which they were made. */
  list(): readonly T[] {
    return this.#sql.all(`SELECT body FROM ${this.#table} ORDER BY seq`).flatMap((row) => record<T>(row) ?? []);
  }

  /** Finds the records with this value in a member that has an index. */
  where(member: "domain_id" | "user_id" | "parent_id", value: string): readonly T[] {
    const text = `SELECT body FROM ${this.#table} WHERE json_extract(body, '$.${member}') = ? ORDER BY seq`;
    return this.#sql.all(text, value).flatMap((row) => record<T>(row) ?? []);
  }

  /** Names are unique within a domain; what belongs to no domain counts as of one. */
  named(name: string, domainId: string | null): T | undefined {
    const domain = "coalesce(json_extract(body, '$.domain_id'), '')";
    const text = `SELECT body FROM ${this.#table} WHERE ${domain} = ? AND json_extract(body, '$.name') = ?`;
    return record<T>(this.#sql.get(text, domainId ?? "", name));
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

function record<T>(row: readonly unknown[] | undefined): T | undefined {
  return row === undefined ? undefined : (JSON.parse(String(row[0])) as T);
}
