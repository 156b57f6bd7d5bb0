import type { SqlValue } from "../database/database-file.js";
import type { Sql, SqlRow } from "../database/sql.js";
import { and, type Condition, EVERY, isOneOf } from "./condition.js";
import { expressionOf, type StoredResource } from "./resource.js";

type Match = SqlValue | boolean | readonly SqlValue[];

/** Reads and deletes the records of a resource, however its rows store them. Every resource has an `id`. */
export abstract class StoredRecords<R> {
  readonly name: string;
  readonly #sql: Sql;
  readonly #resource: StoredResource;
  readonly #select: string;
  readonly #decode: (row: SqlRow) => R;

  /** @param columns those that `decode` needs */
  constructor(sql: Sql, resource: StoredResource, columns: readonly string[], decode: (row: SqlRow) => R) {
    this.#sql = sql;
    this.#resource = resource;
    this.name = resource.table;
    this.#decode = decode;
    this.#select = `SELECT ${columns.map((column) => `${this.name}.${column}`).join(", ")} FROM ${this.name}`;
  }

  get(id: string): R | undefined {
    const row = this.#sql.get(`${this.#select} WHERE id = ?`, id);
    return row && this.#decode(row);
  }

  /** Returns the first record that matches, in the order of creation. */
  first({ sql, values }: Condition): R | undefined {
    const row = this.#sql.get(`${this.#select} WHERE ${sql} ORDER BY ${this.name}.rowid LIMIT 1`, ...values);
    return row && this.#decode(row);
  }

  /** @param rest fixed SQL: `ORDER BY` and `LIMIT`. Default: the order of creation */
  find({ sql, values }: Condition, rest = `ORDER BY ${this.name}.rowid`): readonly R[] {
    return this.#sql.all(`${this.#select} WHERE ${sql} ${rest}`, ...values).map((row) => this.#decode(row));
  }

  /** Returns all records in the order of creation. */
  list(): readonly R[] {
    return this.find(EVERY);
  }

  /** Returns the records with these values of attributes. Of several values of one attribute, a record has any. */
  findBy(values: { readonly [K in keyof R]?: Match }): readonly R[] {
    const conditions = Object.entries<Match>(values as Readonly<Record<string, Match>>).map(([attribute, match]) =>
      isOneOf(expressionOf(this.#resource, attribute), toList(match)),
    );
    return this.find(and(...conditions));
  }

  /** Returns the ids of the records that match, which is cheap even for 100,000. */
  ids({ sql, values }: Condition, rest = `ORDER BY ${this.name}.rowid`): readonly string[] {
    return this.#sql.strings(`SELECT ${this.name}.id FROM ${this.name} WHERE ${sql} ${rest}`, ...values);
  }

  /** Returns the records with these ids in their order; missing ones are left out. */
  withIds(ids: readonly string[]): readonly R[] {
    const rows = this.#sql.all(`${this.#select} WHERE id IN (SELECT value FROM json_each(?))`, JSON.stringify(ids));
    const byId = new Map(rows.map((row) => this.#decode(row)).map((record) => [idOf(record), record]));
    return ids.flatMap((id) => byId.get(id) ?? []);
  }

  count({ sql, values }: Condition): number {
    return this.#sql.number(`SELECT count(*) FROM ${this.name} WHERE ${sql}`, ...values);
  }

  has({ sql, values }: Condition): boolean {
    return this.#sql.get(`SELECT 1 FROM ${this.name} WHERE ${sql} LIMIT 1`, ...values) !== undefined;
  }

  delete(id: string): void {
    this.#sql.execute(`DELETE FROM ${this.name} WHERE id = ?`, id);
  }
}

function toList(match: Match): readonly SqlValue[] {
  if (typeof match === "boolean") {
    return [match ? 1 : 0];
  }
  return match === null || typeof match !== "object" ? [match] : match;
}

function idOf(record: unknown): string {
  return String((record as { readonly id: unknown }).id);
}
