import Libsql from "libsql";

/** What a person can do with a file that this program cannot use. */
const ELSEWHERE = "name another one with --state-dir (of compute-cluster placement: --database)";

/** The file of a database cannot be used by this process. Nothing that was acknowledged is lost by this. */
export class DatabaseUnusable extends Error {
  override readonly name = "DatabaseUnusable";
  readonly path: string;

  /** @param reason what is wrong, and what to do about it. */
  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`the database ${path} cannot be used: ${reason}`, options);
    this.path = path;
  }
}

/** The file was written by a newer version of this program. */
export class DatabaseTooNew extends Error {
  override readonly name = "DatabaseTooNew";

  /** @param component whose tables have version `found`, where this program knows up to `known`. */
  constructor(path: string, component: string, found: number, known: number) {
    super(
      `the database ${path} has version ${found} of the ${component} tables, this program knows up to ${known}: ` +
        `start the newer program again, or ${ELSEWHERE}`,
    );
  }
}

/** The file was written by an older version of this program, and is only read now. */
export class DatabaseTooOld extends Error {
  override readonly name = "DatabaseTooOld";

  constructor(path: string, component: string) {
    super(
      `the database ${path} has the ${component} tables of an older program, or none yet: a start of the cluster brings them up to ` +
        "date; do that first",
    );
  }
}

/** Primary result codes of SQLite that are about the file and not about what was asked, with what each means. */
const FILE_CODES: ReadonlyMap<number, string> = new Map([
  [5, `another control plane or Placement uses it; stop that one, or ${ELSEWHERE}`],
  [8, `it cannot be written; give this user the right to, or ${ELSEWHERE}`],
  [10, "disk I/O error, its disk is full or broken; make room, or look at the disk, and start again"],
  [11, `it is damaged; put a copy in its place, move it and its -wal away to start from nothing, or ${ELSEWHERE}`],
  [13, "its disk is full; make room, and start again"],
  [14, `its folder is absent or not writable, or it is a folder itself; ${ELSEWHERE}`],
  [26, `it is not an SQLite database; move it and its -wal away to start from nothing, or ${ELSEWHERE}`],
]);

/** Failures to open have their code at the end of the text only. */
const OPEN_FAILURE = /^ConnectionFailed\(.*: (\d+)"\)$/s;

/** A value as SQLite keeps it. libsql aborts the process when it is handed anything else, so nothing else may pass. */
export type SqlValue = string | number | null;

/** Milliseconds to wait for a process that is just ending. */
const BUSY_TIMEOUT = 500;

/**
 * An SQLite file, or `:memory:`, opened. What its engine says of the file itself (full disk, damage, another owner) is
 * thrown as {@link DatabaseUnusable}, wherever it comes up; everything else as it is.
 */
export class DatabaseFile {
  readonly path: string;
  readonly #handle: Libsql.Database;

  /** @param pragmas statements that configure the connection. @throws {DatabaseUnusable} */
  constructor(path: string, pragmas: readonly string[] = []) {
    this.path = path;
    this.#handle = guarded(path, () => new Libsql(path, { timeout: BUSY_TIMEOUT }));
    try {
      for (const pragma of pragmas) {
        this.exec(pragma);
      }
    } catch (error) {
      this.#handle.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#handle.inTransaction;
  }

  prepare(text: string): FileStatement {
    return guarded(this.path, () => new FileStatement(this.path, this.#handle.prepare(text)));
  }

  exec(text: string): void {
    guarded(this.path, () => this.#handle.exec(text));
  }

  close(): void {
    this.#handle.close();
  }
}

export class FileStatement {
  readonly #path: string;
  readonly #statement: Libsql.Statement<unknown[]>;
  /** It has run, or failed, in a way that leaves it where it ended: of what can begin it anew, with other values, only `run` does so. */
  #isLeft = false;

  constructor(path: string, statement: Libsql.Statement<unknown[]>) {
    this.#path = path;
    this.#statement = statement;
  }

  /** From now on rows come as lists of columns. */
  raw(): this {
    this.#statement.raw();
    return this;
  }

  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint } {
    this.#isLeft = true;
    return guarded(this.#path, () => this.#statement.run(values));
  }

  /** Runs a statement without rows. Not to ask what it has changed saves a third of a small one. */
  execute(...values: SqlValue[]): void {
    if (this.#isLeft) {
      this.run(...values);
      return;
    }
    this.#isLeft = true;
    guarded(this.#path, () => this.#statement.get(values));
    this.#isLeft = false;
  }

  get(...values: SqlValue[]): unknown {
    return guarded(this.#path, () => this.#statement.get(values));
  }

  all(...values: SqlValue[]): unknown[] {
    return guarded(this.#path, () => this.#statement.all(values));
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(path, error);
  }
}

/** The error of a statement as it came, or, when it is about the file, as a {@link DatabaseUnusable}. */
export function fileFailure(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DatabaseUnusable) {
    return error;
  }
  const { rawCode } = error as { readonly rawCode?: unknown };
  const code = Number(rawCode ?? OPEN_FAILURE.exec(error.message)?.[1]);
  // Extended result codes have the primary one in their low byte.
  const meaning = FILE_CODES.get(code & 0xff);
  return meaning === undefined ? error : new DatabaseUnusable(path, meaning, { cause: error });
}
