import type { ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import { errorResponse, guarded } from "./responses.js";
import type { Session } from "./sessions.js";
import { type LogBatch, type LogEvents, type LogFilter, MIN_LEVELS } from "./wire/logs.js";

/** Maximum number of pages that follow logs at a time. */
const MAX_READERS = 10;
/** Milliseconds between two messages of new entries. */
const ADDED_EVERY_MS = 200;
/** Milliseconds without an event after which a line is sent, so that neither side takes the connection for lost. */
const QUIET_MS = 10_000;
/** Maximum characters of a filter's value. */
const MAX_FILTER_CHARS = 200;

/** The matching entries of the logs. */
export interface LogTail {
  readonly names: readonly string[];
  /** Why there are no entries; null if the selected host has a log. */
  readonly problem: string | null;
  /** Returns the last entries; called once, before {@link added}. */
  last(): Promise<LogEvents["last"]>;
  /** Returns the entries added since the last call. Cheap if no log has changed. */
  added(): Promise<LogBatch>;
  close(): void;
}

export type OpenLogs = (filter: LogFilter) => Promise<LogTail>;

/** Streams log entries to browsers, filtered on this side: logs may be larger than a page can take. */
export class LogReaders {
  readonly #openLogs: OpenLogs;
  readonly #runtime: Pick<Runtime, "timers" | "clock">;
  #count = 0;

  constructor(openLogs: OpenLogs, runtime: Pick<Runtime, "timers" | "clock">) {
    this.#openLogs = openLogs;
    this.#runtime = runtime;
  }

  /** Responds with an event stream that ends when the browser disconnects or the session ends. */
  stream({ query }: Pick<ServiceRequest, "query">, session: Pick<Session, "ended">): ServiceResponse {
    const filter = filterOf(query);
    if (typeof filter === "string") {
      return errorResponse(400, filter);
    }
    if (this.#count >= MAX_READERS) {
      return errorResponse(503, `${this.#count} pages already follow the logs of this cluster; close one of them`);
    }
    this.#count += 1;
    const bytes = this.#events(filter, session.ended);
    return guarded({ status: 200, headers: { "content-type": "text/event-stream" }, body: "", bytes });
  }

  async *#events(filter: LogFilter, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { timers, clock } = this.#runtime;
    let tail: LogTail | undefined;
    try {
      tail = await this.#openLogs(filter);
      yield format("begin", { names: tail.names, problem: tail.problem });
      yield format("last", await tail.last());
      let sentAt = clock.monotonic();
      while (!signal.aborted) {
        await timers.sleep(ADDED_EVERY_MS, signal).catch(() => undefined);
        const batch = await tail.added();
        const isQuiet = clock.monotonic() - sentAt > QUIET_MS;
        if (batch.rows.length > 0 || isQuiet) {
          sentAt = clock.monotonic();
          yield batch.rows.length > 0 ? format("added", batch) : new TextEncoder().encode(": nothing new\n\n");
        }
      }
      yield format("bye", { reason: String(signal.reason) });
    } finally {
      tail?.close();
      this.#count -= 1;
    }
  }
}

function format<E extends keyof LogEvents>(event: E, data: LogEvents[E]): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Parses the filter of a query. Returns what is wrong with it instead, as text. */
function filterOf(query: string): LogFilter | string {
  const values = new URLSearchParams(query);
  const value = (name: string) => (values.get(name) ?? "").trim();
  const level: LogFilter["level"] = MIN_LEVELS.find((each) => each === value("level")) ?? "";
  if (level !== value("level")) {
    return `found the level ${JSON.stringify(value("level"))}, expected ${MIN_LEVELS.join(", ")}`;
  }
  const filter = { host: value("host"), level, request: value("request"), text: value("q") };
  const isTooLong = Object.values(filter).some((each) => each.length > MAX_FILTER_CHARS);
  return isTooLong ? `expected filters of at most ${MAX_FILTER_CHARS} characters` : filter;
}
