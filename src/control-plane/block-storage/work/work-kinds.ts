import type { Json } from "../../http/json.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";

export type WorkInput = Readonly<Record<string, Json>>;

/** A kind of work on records. Each function runs in a transaction, possibly again after a kill. */
export interface WorkKind {
  /** Changes the records as the finished work leaves them. Does nothing if the record no longer waits for it. */
  readonly run: (context: BlockStorageContext, id: string, input: WorkInput) => void;
  /** Leaves the records in error. */
  readonly fail: (context: BlockStorageContext, id: string, input: WorkInput) => void;
}
