import type { Sql } from "../database/sql.js";
import { expressionOf, type StoredResource } from "./resource.js";
import { StoredRecords } from "./stored-records.js";

/** The records of a resource as JSON documents, which retain members that clients add. */
export class DocumentTable<R extends { readonly id: string }> extends StoredRecords<R> {
  readonly #sql: Sql;
  readonly #keys: NonNullable<StoredResource["keys"]>[string][];
  readonly #insert: string;
  readonly #update: string;

  /** @param resource one with `document` */
  constructor(sql: Sql, resource: StoredResource) {
    const { table, document = "", keys = {} } = resource;
    super(sql, resource, [document], ([body]) => JSON.parse(String(body)));
    this.#sql = sql;
    this.#keys = Object.values(keys);
    const columns = ["id", document, ...Object.keys(keys)];
    this.#insert = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
    // The right side reads the row as it was before: a record without a key gets one only when its attribute changes.
    const assignments = Object.entries(keys).map(
      ([key, { attribute }]) => `${key} = CASE WHEN ${expressionOf(resource, attribute)} IS ? THEN ${key} ELSE ? END`,
    );
    this.#update = `UPDATE ${table} SET ${[`${document} = ?`, ...assignments].join(", ")} WHERE id = ?`;
  }

  insert(record: R): R {
    const keys = this.#keys.map(({ attribute, toKey }) => toKey(textOf(record, attribute)));
    this.#sql.run(this.#insert, record.id, JSON.stringify(record), ...keys);
    return record;
  }

  /** Replaces the record with the same id. */
  update(record: R): R {
    const keys = this.#keys.flatMap(({ attribute, toKey }) => {
      const value = textOf(record, attribute);
      return [value, toKey(value)];
    });
    this.#sql.run(this.#update, JSON.stringify(record), ...keys, record.id);
    return record;
  }
}

function textOf(record: object, attribute: string): string {
  return String(Reflect.get(record, attribute));
}
