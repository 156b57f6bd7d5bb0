type ClusterErrorCode =
  /** The database file cannot be used by this process. Acknowledged writes are not lost. */
  | "DatabaseUnusable"
  | "DatabaseTooNew"
  /** The tables lack a version of this program, and the file is opened only for reading. */
  | "DatabaseTooOld"
  /** The state directory cannot be created or written. */
  | "StateDirUnusable"
  | "InvalidHostName"
  /** The cluster contains something that contradicts its file. */
  | "SeedRefused"
  /** A snapshot cannot be used or saved. */
  | "SnapshotRefused"
  /** No cluster was ever started in the state directory. */
  | "NoLocalCloud";

/**
 * A reason why a cluster or its state cannot be used. The message contains the reason and what to do; commands derive
 * their exit code from the name.
 */
export class ClusterError extends Error {
  readonly code: ClusterErrorCode;
  override readonly name: ClusterErrorCode;

  constructor(code: ClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.name = code;
  }
}

export function isClusterError(error: unknown, ...codes: readonly ClusterErrorCode[]): error is ClusterError {
  return error instanceof ClusterError && codes.includes(error.code);
}
