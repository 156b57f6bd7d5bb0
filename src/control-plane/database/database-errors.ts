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
