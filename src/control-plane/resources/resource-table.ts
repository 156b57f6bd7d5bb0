import type { SqlValue } from "../database/database-file.js";
import type { Sql, SqlRow } from "../database/sql.js";
import type { Condition } from "./condition.js";
import { type AttributeMap, type ColumnType, columnOf, type RecordOf, type StoredResource } from "./resource.js";

interface Column {
  readonly attribute: string;
  readonly name: string;
  readonly type: ColumnType;
}

/** The records of a resource: rows whose columns follow from its attributes. Every resource has an `id`. */
export class ResourceTable<M extends AttributeMap, R extends RecordOf<M> = RecordOf<M>> {
  readonly name: string;
  readonly #sql: Sql;
  readonly #columns: readonly Column[];
  readonly #byAttribute: ReadonlyMap<string, Column>;
  readonly #select: string;
  readonly #insert: string;

  constructor(sql: Sql, resource: StoredResource<M>) {
    this.#sql = sql;
    this.name = resource.table;
    this.#columns = columnsOf(resource);
    this.#byAttribute = new Map(this.#columns.map((column) => [column.attribute, column]));
    const names = this.#columns.map(({ name }) => name);
    this.#select = `SELECT ${names.map((name) => `${this.name}.${name}`).join(", ")} FROM ${this.name}`;
    this.#insert = `INSERT INTO ${this.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
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

  /** @throws {DuplicateRecord} `data.index` names the columns of the violated unique index */
  insert(record: R): void {
    const values = this.#columns.map((column) => encode(Reflect.get(record, column.attribute), column));
    this.#sql.execute(this.#insert, ...values);
  }

  update(id: string, changes: Partial<R>): void {
    const columns = Object.keys(changes).map((attribute) => this.#column(attribute));
    if (columns.length === 0) {
      return;
    }
    const assignments = columns.map(({ name }) => `${name} = ?`).join(", ");
    const values = columns.map((column) => encode(Reflect.get(changes, column.attribute), column));
    this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...values, id);
  }

  delete(id: string): void {
    this.#sql.execute(`DELETE FROM ${this.name} WHERE id = ?`, id);
  }

  #column(attribute: string): Column {
    const column = this.#byAttribute.get(attribute);
    if (column === undefined) {
      throw new Error(`table ${this.name} has no column for the attribute ${attribute}`);
    }
    return column;
  }

  #decode(row: SqlRow): R {
    const record: Record<string, unknown> = {};
    for (const [index, { attribute, type }] of this.#columns.entries()) {
      record[attribute] = decode(row[index] ?? null, type);
    }
    return record as R;
  }
}

/**
 * Creates the missing tables, columns and indexes of a service's resources. New columns of existing rows are NULL.
 * @param component name of the service: `network`
 * @param more further statements of the service, each of which may run again
 */
export function createResourceTables(
  sql: Sql,
  component: string,
  resources: readonly StoredResource[],
  more: readonly string[] = [],
): void {
  const fingerprint = JSON.stringify([resources.map(tableText), more]);
  sql.run("CREATE TABLE IF NOT EXISTS resource_schemas (component TEXT PRIMARY KEY, fingerprint TEXT NOT NULL) STRICT");
  const [known] = sql.get("SELECT fingerprint FROM resource_schemas WHERE component = ?", component) ?? [];
  if (known === fingerprint) {
    return;
  }
  sql.transaction(() => {
    for (const resource of resources) {
      createTable(sql, resource);
    }
    for (const text of more) {
      sql.file.exec(text);
    }
    sql.run("INSERT OR REPLACE INTO resource_schemas VALUES (?, ?)", component, fingerprint);
  });
}

function createTable(sql: Sql, resource: StoredResource): void {
  const { table } = resource;
  if (resource.view !== undefined) {
    sql.file.exec(`DROP VIEW IF EXISTS ${table}; ${tableText(resource)}`);
    return;
  }
  const existing = new Set(sql.strings("SELECT name FROM pragma_table_info(?)", table));
  if (existing.size === 0) {
    sql.file.exec(tableText(resource));
  }
  for (const column of existing.size === 0 ? [] : columnsOf(resource)) {
    if (!existing.has(column.name)) {
      sql.file.exec(`ALTER TABLE ${table} ADD COLUMN ${columnText(column)}`);
    }
  }
  const indexes = [
    ...(resource.unique ?? []).map((attributes) => ({ attributes, kind: "UNIQUE INDEX" })),
    ...(resource.indexes ?? []).map((attributes) => ({ attributes, kind: "INDEX" })),
  ];
  for (const { attributes, kind } of indexes) {
    const columns = attributes.map(columnOf);
    sql.file.exec(
      `CREATE ${kind} IF NOT EXISTS ${table}_by_${columns.join("_and_")} ON ${table} (${columns.join(", ")})`,
    );
  }
}

function tableText(resource: StoredResource): string {
  if (resource.view !== undefined) {
    return `CREATE VIEW ${resource.table} AS ${resource.view}`;
  }
  const columns = columnsOf(resource).map((column) => {
    const reference = resource.references?.[column.attribute];
    const target = reference ? ` REFERENCES ${reference.table} (id)` : "";
    const action = reference?.onDelete ? ` ON DELETE ${reference.onDelete.toUpperCase()}` : "";
    return `${columnText(column)}${column.attribute === "id" ? " NOT NULL UNIQUE" : ""}${target}${action}`;
  });
  return `CREATE TABLE ${resource.table} (${columns.join(", ")}) STRICT`;
}

function columnText({ name, type }: Column): string {
  return `${name} ${type === "integer" || type === "boolean" ? "INTEGER" : "TEXT"}`;
}

function columnsOf({ attributes }: StoredResource): readonly Column[] {
  return Object.entries(attributes).flatMap(([attribute, { type, stored }]) =>
    stored === false ? [] : [{ attribute, name: columnOf(attribute), type: type.column }],
  );
}

function idOf(record: object): string {
  return String(Reflect.get(record, "id"));
}

/** Converts a value for its column. @throws {TypeError} for a value of another type */
function encode(value: unknown, { attribute, type }: Column): SqlValue {
  if (value === null || value === undefined) {
    return null;
  }
  switch (type) {
    case "json":
      return JSON.stringify(value);
    case "boolean":
      return value === true ? 1 : 0;
    case "integer":
      if (typeof value === "number" && Number.isSafeInteger(value)) {
        return value;
      }
      break;
    case "text":
      if (typeof value === "string") {
        return value;
      }
      break;
  }
  throw new TypeError(`attribute ${attribute}: ${JSON.stringify(value)} is no ${type}`);
}

function decode(value: SqlValue, type: ColumnType): unknown {
  if (value === null) {
    return null;
  }
  if (type === "json") {
    return JSON.parse(String(value));
  }
  return type === "boolean" ? value !== 0 : value;
}
