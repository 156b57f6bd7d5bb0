import { type SqlValue, UnstorableValue } from "../database/database-file.js";
import type { Sql, SqlRow } from "../database/sql.js";
import type { Condition } from "./condition.js";
import { type AttributeMap, type ColumnType, columnOf, type RecordOf, type StoredResource } from "./resource.js";
import { StoredRecords } from "./stored-records.js";

interface Column {
  readonly attribute: string;
  readonly name: string;
  readonly type: ColumnType;
}

/** The records of a resource: rows whose columns follow from its attributes. */
export class ResourceTable<M extends AttributeMap, R extends RecordOf<M> = RecordOf<M>> extends StoredRecords<R> {
  readonly #sql: Sql;
  readonly #columns: readonly Column[];
  readonly #byAttribute: ReadonlyMap<string, Column>;
  readonly #insert: string;

  constructor(sql: Sql, resource: StoredResource<M>) {
    const columns = columnsOf(resource);
    const names = columns.map(({ name }) => name);
    super(sql, resource, names, (row) => toRecord<R>(columns, row));
    this.#sql = sql;
    this.#columns = columns;
    this.#byAttribute = new Map(columns.map((column) => [column.attribute, column]));
    this.#insert = `INSERT INTO ${this.name} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  }

  /** @throws {DuplicateRecord} `data.index` names the columns of the violated unique index */
  insert(record: R): void {
    const values = this.#columns.map((column) => encode(Reflect.get(record, column.attribute), column));
    this.#sql.execute(this.#insert, ...values);
  }

  update(id: string, changes: Partial<R>): void {
    const { assignments, values } = this.#assignments(changes);
    if (assignments !== "") {
      this.#sql.execute(`UPDATE ${this.name} SET ${assignments} WHERE id = ?`, ...values, id);
    }
  }

  /** Changes the records that match. Returns whether there is one: the database compares and changes it in one step. */
  updateIf(condition: Condition, changes: Partial<R>): boolean {
    const { assignments, values } = this.#assignments(changes);
    const statement = `UPDATE ${this.name} SET ${assignments} WHERE ${condition.sql}`;
    return assignments !== "" && this.#sql.run(statement, ...values, ...condition.values).changes > 0;
  }

  #assignments(changes: Partial<R>): { readonly assignments: string; readonly values: readonly SqlValue[] } {
    const columns = Object.keys(changes).map((attribute) => this.#column(attribute));
    return {
      assignments: columns.map(({ name }) => `${name} = ?`).join(", "),
      values: columns.map((column) => encode(Reflect.get(changes, column.attribute), column)),
    };
  }

  #column(attribute: string): Column {
    const column = this.#byAttribute.get(attribute);
    if (column === undefined) {
      throw new Error(`table ${this.name} has no column for the attribute ${attribute}`);
    }
    return column;
  }
}

function toRecord<R>(columns: readonly Column[], row: SqlRow): R {
  const record: Record<string, unknown> = {};
  for (const [index, { attribute, type }] of columns.entries()) {
    record[attribute] = decode(row[index] ?? null, type);
  }
  return record as R;
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

/** Converts a value for its column. @throws {UnstorableValue} for a value of another type */
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
  throw new UnstorableValue(`attribute ${attribute}: ${JSON.stringify(value)} is no ${type}`);
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
