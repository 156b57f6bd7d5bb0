import type { FieldMap, JsonSchema, RecordOf } from "../../records/field.js";
import type { Sql, SqlRow } from "../database/sql.js";
import { type Codec, codecOf, rejectField, type SqlValue } from "./record-fields.js";

/** Where and how a field of a record is kept. */
interface Column {
  readonly name: string;
  readonly codec: Codec<unknown>;
}

interface Field {
  readonly field: string;
  readonly codec: Codec<unknown>;
}

/** A table's name, and how each field of its records is kept. Made once, for all stores of the process. */
export interface TableShape<T> {
  readonly name: string;
  readonly columns: ReadonlyMap<string, Column>;
  readonly select: string;
  /** For the type system only. */
  readonly record?: T;
}

/** The table of the records that have these fields; a column's name is its field's in snake case. */
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

/** Conditions of one table whose texts are kept. */
const MAX_CACHED_QUERIES = 200;

type FieldOf<T> = Extract<keyof T, string>;

/** The rows of one table as typed records. Conditions are SQL text of the caller, never data. */
export class Table<T extends object> {
  readonly name: string;
  readonly #sql: Sql;
  readonly #columns: ReadonlyMap<string, Column>;
  /** In the order of the columns. */
  readonly #fields: readonly Field[];
  readonly #select: string;
  /** By condition: the whole text, which is long, and by which its statement is found. */
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

  /** Inserts a row and returns its id. */
  insert(values: Partial<T>, extra: Readonly<Record<string, SqlValue>> = {}): number {
    const [columns, encoded] = this.#encode(values, extra);
    const marks = columns.map(() => "?").join(", ");
    return this.#sql.run(`INSERT INTO ${this.name} (${columns.join(", ")}) VALUES (${marks})`, ...encoded).id;
  }

  /** Changes the row with this id, if there is one. */
  update(id: number, values: Partial<T>, extra: Readonly<Record<string, SqlValue>> = {}): void {
    const [columns, encoded] = this.#encode(values, extra);
    const assignments = columns.map((column) => `${column} = ?`).join(", ");
    this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...encoded, id);
  }

  /**
   * Changes the row that the record was just read from, and returns what it is now, without reading it again: a row of these
   * tables is long, and no trigger changes one.
   */
  change<R extends T & { readonly id: number }>(record: R, values: Partial<T>): R {
    const [columns, encoded] = this.#encode(values, {});
    const assignments = columns.map((column) => `${column} = ?`).join(", ");
    this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...encoded, record.id);
    // As they would be read.
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
