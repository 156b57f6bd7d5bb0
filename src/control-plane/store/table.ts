import type { FieldMap, JsonSchema, RecordOf } from "../../records/field.js";
import type { Sql, SqlRow } from "../database/sql.js";
import { type Codec, codecOf, rejectField, type SqlValue } from "./record-fields.js";

interface Column {
  readonly name: string;
  readonly codec: Codec<unknown>;
}

interface Field {
  readonly field: string;
  readonly codec: Codec<unknown>;
}

/** A table's name and columns. Created once, for all stores of the process. */
export interface TableShape<T> {
  readonly name: string;
  readonly columns: ReadonlyMap<string, Column>;
  readonly select: string;
  /** For the type system only. */
  readonly record?: T;
}

/** Describes the table of records with these fields. A column has the name of its field in snake case. */
export function tableOf<F extends FieldMap>(name: string, fields: F): TableShape<RecordOf<F>> {
  const columns = new Map(
    Object.entries(fields).map(([field, schema]) => [
      field,
      { name: snakeCase(field), codec: codecOf(schema as unknown as JsonSchema) },
    ]),
  );
  const names = [...columns.values()].map((column) => column.name).join(", ");
  return { name, columns, select: `SELECT ${names} FROM ${name}` };
}

/** The max number of conditions per table whose SQL is cached. */
const MAX_CACHED_QUERIES = 200;

type FieldOf<T> = Extract<keyof T, string>;

/** The rows of one table as typed records. Conditions are SQL written by the caller, never data. */
export class Table<T extends object> {
  readonly name: string;
  readonly #sql: Sql;
  readonly #columns: ReadonlyMap<string, Column>;
  /** In the order of the columns. */
  readonly #fields: readonly Field[];
  readonly #select: string;
  /** The complete SQL by condition. It is long, and the key of its prepared statement. */
  readonly #queries = new Map<string, string>();

  constructor(sql: Sql, { name, columns, select }: TableShape<T>) {
    this.#sql = sql;
    this.name = name;
    this.#columns = columns;
    this.#fields = [...columns].map(([field, { codec }]) => ({ field, codec }));
    this.#select = select;
  }

  column(field: FieldOf<T>): string {
    return snakeCase(field);
  }

  one(condition: string, ...values: SqlValue[]): T | null {
    const row = this.#sql.get(this.#text(condition), ...values);
    return row ? this.#decode(row) : null;
  }

  many(condition: string, ...values: SqlValue[]): T[] {
    return this.#sql.all(this.#text(condition), ...values).map((row) => this.#decode(row));
  }

  insert(values: Partial<T>): number {
    const [columns, encoded] = this.#encode(values, {});
    const marks = columns.map(() => "?").join(", ");
    return this.#sql.run(`INSERT INTO ${this.name} (${columns.join(", ")}) VALUES (${marks})`, ...encoded).id;
  }

  /** Updates the row with this id, if it exists. */
  update(id: number, values: Partial<T>, extra: Readonly<Record<string, SqlValue>> = {}): void {
    const [columns, encoded] = this.#encode(values, extra);
    const assignments = columns.map((column) => `${column} = ?`).join(", ");
    this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...encoded, id);
  }

  /**
   * Updates the row of a record that was just read, and returns the updated record without reading it again: rows are
   * long, and no trigger changes them.
   */
  change<R extends T & { readonly id: number }>(record: R, values: Partial<T>): R {
    const [columns, encoded] = this.#encode(values, {});
    const assignments = columns.map((column) => `${column} = ?`).join(", ");
    this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...encoded, record.id);
    // Encoded and decoded, so that the values are the same as after a read.
    const decoded = Object.keys(values).map((field, index) => [
      field,
      this.#columns.get(field)?.codec.decode(encoded[index] ?? null),
    ]);
    return { ...record, ...Object.fromEntries(decoded) };
  }

  #text(condition: string): string {
    const known = this.#queries.get(condition);
    if (known !== undefined) {
      return known;
    }
    if (this.#queries.size >= MAX_CACHED_QUERIES) {
      this.#queries.clear();
    }
    const text = `${this.#select} WHERE ${condition}`;
    this.#queries.set(condition, text);
    return text;
  }

  #encode(values: Partial<T>, extra: Readonly<Record<string, SqlValue>>): [columns: string[], values: SqlValue[]] {
    const columns = Object.keys(extra);
    const encoded = Object.values(extra);
    for (const [field, value] of Object.entries(values)) {
      const column = this.#columns.get(field);
      if (!column) {
        rejectField(`${this.name}.${field}`, value, "no such field");
      }
      columns.push(column.name);
      encoded.push(column.codec.encode(value, field));
    }
    return [columns, encoded];
  }

  #decode(row: SqlRow): T {
    const record: Record<string, unknown> = {};
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 1) {
      const { field, codec } = fields[index] as Field;
      record[field] = codec.decode(row[index] ?? null);
    }
    return record as T;
  }
}

function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
