/**
 * `GET /window/logs?host=&level=&request=&q=`: server-sent events with the matching entries of the logs in the state
 * directory: the last ones, then new ones without end. After a reconnection the stream starts again with `begin`.
 */
export interface LogEvents {
  /** The page must drop all of its entries. */
  readonly begin: {
    /** Names that can be selected as `host`: hosts and pools with a log, the control plane and its services. */
    readonly names: readonly string[];
    /** Why there are no entries for the selected host; null if it has a log. */
    readonly problem: string | null;
  };
  /** The last entries, oldest first, after `begin`. */
  readonly last: LogBatch & {
    /** Bytes of logs that were searched. Older entries were not, unless `isComplete`. */
    readonly searchedBytes: number;
    readonly isComplete: boolean;
  };
  /** New entries, oldest first. */
  readonly added: LogBatch;
  /** The session has ended, and so does the stream. */
  readonly bye: { readonly reason: string };
}

export interface LogBatch {
  readonly rows: readonly LogRow[];
  /** Number of matching entries that were left out, since too many arrived at once. */
  readonly dropped: number;
}

/** An entry of a log. */
export interface LogRow {
  /** Null if the log has lines without a time. */
  readonly at: number | null;
  /** A host, a pool, `control-plane`, or one of its services. */
  readonly source: string;
  /** `INFO`, `WARNING` …; "" for a line without a level. */
  readonly level: string;
  readonly requestId: string | null;
  /** Uuid of the server that the entry is about. */
  readonly instance: string | null;
  readonly message: string;
  /** Names and values after the message: `host=devstack1`. */
  readonly fields: readonly string[];
  /** Lines that belong to the entry, such as a stack. */
  readonly more: readonly string[];
}

export const MIN_LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"] as const;
type MinLevel = (typeof MIN_LEVELS)[number];

/** Selects entries. Empty strings select all. */
export interface LogFilter {
  /** A host, a pool, `control-plane`, or one of its services. */
  readonly host: string;
  /** The least severe level. */
  readonly level: MinLevel | "";
  /** Id of a request that the entry has. */
  readonly request: string;
  /** Text that the entry contains, in any case. */
  readonly text: string;
}
