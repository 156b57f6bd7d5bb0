import type { Clock } from "../../../runtime/time.js";
import type { Sql, SqlRow } from "../../database/sql.js";

/** Attributes of a namespace that its creator sets. */
export interface NamespaceAttributes {
  readonly displayName: string | null;
  readonly description: string | null;
  readonly visibility: "public" | "private";
  readonly protected: boolean;
  readonly owner: string | null;
}

/** A group of metadata definitions. */
export interface Namespace extends NamespaceAttributes {
  readonly number: number;
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type EntryKind = "object" | "property" | "tag" | "resource_type";

/** One definition in a namespace. */
export interface Entry {
  readonly name: string;
  readonly content: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ResourceType {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const NAMESPACE = "SELECT number, name, content, created_at, updated_at FROM metadef_namespaces";
const ENTRY = "SELECT name, content, created_at, updated_at FROM metadef_entries WHERE namespace = ? AND kind = ?";

/** Metadata definitions. The definitions of a namespace are deleted with it. */
export class MetadefStore {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  transaction<T>(work: () => T): T {
    return this.#sql.transaction(work);
  }

  /** Returns all namespaces, newest first. */
  namespaces(): readonly Namespace[] {
    return this.#sql.all(`${NAMESPACE} ORDER BY number DESC`).map(namespaceOf);
  }

  namespace(name: string): Namespace | undefined {
    const row = this.#sql.get(`${NAMESPACE} WHERE name = ?`, name);
    return row && namespaceOf(row);
  }

  /** @throws {DuplicateRecord} */
  addNamespace(name: string, attributes: NamespaceAttributes): Namespace {
    const now = this.#clock.now();
    const { id } = this.#sql.run(
      "INSERT INTO metadef_namespaces (name, content, created_at, updated_at) VALUES (?, ?, ?, ?)",
      ...[name, JSON.stringify(attributes), now, now],
    );
    return { number: id, name, ...attributes, createdAt: now, updatedAt: now };
  }

  /** @throws {DuplicateRecord} */
  changeNamespace(number: number, name: string, attributes: NamespaceAttributes): void {
    this.#sql.run(
      "UPDATE metadef_namespaces SET name = ?, content = ?, updated_at = ? WHERE number = ?",
      ...[name, JSON.stringify(attributes), this.#clock.now(), number],
    );
  }

  removeNamespace(number: number): void {
    this.#sql.run("DELETE FROM metadef_namespaces WHERE number = ?", number);
  }

  /** Returns definitions in the order of their creation. */
  entries(namespace: number, kind: EntryKind): readonly Entry[] {
    return this.#sql.all(`${ENTRY} ORDER BY number`, namespace, kind).map(entryOf);
  }

  countEntries(namespace: number, kind: EntryKind): number {
    const count = "SELECT count(*) FROM metadef_entries WHERE namespace = ? AND kind = ?";
    return Number(this.#sql.get(count, namespace, kind)?.[0]);
  }

  entry(namespace: number, kind: EntryKind, name: string): Entry | undefined {
    const row = this.#sql.get(`${ENTRY} AND name = ?`, namespace, kind, name);
    return row && entryOf(row);
  }

  /** @throws {DuplicateRecord} */
  addEntry(namespace: number, kind: EntryKind, name: string, content: Entry["content"]): Entry {
    const now = this.#clock.now();
    if (kind === "resource_type") {
      this.#sql.run("INSERT OR IGNORE INTO metadef_resource_types (name, created_at) VALUES (?, ?)", name, now);
    }
    this.#sql.run(
      `INSERT INTO metadef_entries (namespace, kind, name, content, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      ...[namespace, kind, name, JSON.stringify(content), now, now],
    );
    return { name, content, createdAt: now, updatedAt: now };
  }

  /** Changes a definition. @param name the current name @throws {DuplicateRecord} */
  changeEntry(
    namespace: number,
    kind: EntryKind,
    name: string,
    to: { readonly name: string; readonly content: Entry["content"] },
  ): void {
    this.#sql.run(
      "UPDATE metadef_entries SET name = ?, content = ?, updated_at = ? WHERE namespace = ? AND kind = ? AND name = ?",
      ...[to.name, JSON.stringify(to.content), this.#clock.now(), namespace, kind, name],
    );
  }

  /** Removes definitions. @param name default: all of the kind */
  removeEntries(namespace: number, kind: EntryKind, name?: string): void {
    const where = "DELETE FROM metadef_entries WHERE namespace = ? AND kind = ?";
    if (name === undefined) {
      this.#sql.run(where, namespace, kind);
    } else {
      this.#sql.run(`${where} AND name = ?`, namespace, kind, name);
    }
  }

  /** Returns the resource types with which namespaces were associated. */
  resourceTypes(): readonly ResourceType[] {
    const rows = this.#sql.all("SELECT name, created_at FROM metadef_resource_types ORDER BY number");
    return rows.map(([name, createdAt]) => ({ name: String(name), createdAt: Number(createdAt) }));
  }
}

function namespaceOf([number, name, content, createdAt, updatedAt]: SqlRow): Namespace {
  return {
    ...(JSON.parse(String(content)) as NamespaceAttributes),
    number: Number(number),
    name: String(name),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
  };
}

function entryOf([name, content, createdAt, updatedAt]: SqlRow): Entry {
  return {
    name: String(name),
    content: JSON.parse(String(content)),
    createdAt: Number(createdAt),
    updatedAt: Number(updatedAt),
  };
}
