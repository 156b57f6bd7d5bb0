import type { Clock } from "../../../runtime/clock.js";
import type { Consumer, Provider } from "../model/records.js";
import type { Database, SqlValue, Statement } from "./database.js";

/** What cannot be done twice, done once: prepares each statement at its first use. */
export class Journal {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Runs all changes in one transaction, or none. */
  write(changes: readonly Change[]): void {
    this.#run("BEGIN IMMEDIATE", []);
    try {
      for (const { sql, values } of changes) this.#run(sql, values);
      this.#run("COMMIT", []);
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #run(sql: string, values: readonly SqlValue[]): void {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    statement.run(...values);
  }
}

export interface Change {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * The changes of one request. Each is made in memory at once and noted twice: how to take it back, and what to write.
 * {@link commit} writes all of it in one transaction; {@link rollback} leaves memory as it was.
 */
export class UnitOfWork {
  /** Milliseconds since the epoch; one time for all changes of a request. */
  readonly now: number;
  readonly #journal: Journal | undefined;
  #undo: (() => void)[] = [];
  #changes: Change[] = [];
  /** Records whose own row has changed; written once, as they are in the end. */
  #providers = new Set<Provider>();
  #consumers = new Map<Consumer, "created" | "updated" | "deleted">();

  constructor(clock: Clock, journal: Journal | undefined) {
    this.now = clock.now();
    this.#journal = journal;
  }

  /** Makes a change that `undo` takes back. */
  apply(change: () => void, undo: () => void): void {
    change();
    this.#undo.push(undo);
  }

  write(sql: string, ...values: SqlValue[]): void {
    this.#changes.push({ sql, values });
  }

  /** Notes that a provider's row has changed, whose fields `undo` restores. */
  changed(provider: Provider, undo: () => void): void {
    const { updatedAt } = provider;
    provider.updatedAt = this.now;
    provider.fragments = null;
    this.#undo.push(() => {
      undo();
      provider.updatedAt = updatedAt;
    });
    this.#providers.add(provider);
  }

  /** Notes that a consumer's row was made, has changed or is gone. */
  consumer(consumer: Consumer, what: "created" | "updated" | "deleted"): void {
    const before = this.#consumers.get(consumer);
    if (before === "created" && what === "deleted") this.#consumers.delete(consumer);
    else this.#consumers.set(consumer, before === "created" ? "created" : what);
  }

  /** Forgets a provider whose row is deleted. */
  gone(provider: Provider): void {
    this.#providers.delete(provider);
  }

  /** Writes what has changed; takes everything back when that fails. May be called again after further changes. */
  commit(): void {
    try {
      const changes = [...this.#consumerChanges(), ...this.#changes, ...this.#providerChanges()];
      if (this.#journal !== undefined && changes.length > 0) this.#journal.write(changes);
    } catch (error) {
      this.rollback();
      throw error;
    }
    this.#undo = [];
    this.#clear();
  }

  rollback(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    this.#clear();
  }

  #clear(): void {
    this.#changes = [];
    this.#providers = new Set();
    this.#consumers = new Map();
  }

  #providerChanges(): Change[] {
    return [...this.#providers].map(({ id, name, generation, parent, root, updatedAt }) => ({
      sql: "UPDATE placement_resource_providers SET name = ?, generation = ?, parent_id = ?, root_id = ?, updated_at = ? WHERE id = ?",
      values: [name, generation, parent?.id ?? null, root.id, updatedAt, id],
    }));
  }

  #consumerChanges(): Change[] {
    return [...this.#consumers].map(([{ id, uuid, generation, project, user, type, createdAt }, what]) => {
      if (what === "deleted") return { sql: "DELETE FROM placement_consumers WHERE id = ?", values: [id] };
      if (what === "created") {
        return {
          sql: "INSERT INTO placement_consumers (id, uuid, generation, project_id, user_id, type_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
          values: [id, uuid, generation, project.id, user.id, type?.id ?? null, createdAt],
        };
      }
      return {
        sql: "UPDATE placement_consumers SET generation = ?, project_id = ?, user_id = ?, type_id = ? WHERE id = ?",
        values: [generation, project.id, user.id, type?.id ?? null, id],
      };
    });
  }
}
