/** A snapshot cannot be used, or made; the message says why, and what to do. */
export class SnapshotRejectedError extends Error {
  override readonly name = "SnapshotRefused";
}
