import { pino } from "pino";
import { LevelLogger, type LogLevel } from "../level-logger.js";
import type { LogFields, Logger } from "../runtime.js";

export interface NodeLoggerOptions {
  /** The lowest level that is written. Default `info`. */
  readonly level?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** Formats an entry as one or more lines. Default: one JSON object per line. */
  readonly format?: (entry: LogEntry) => string;
  /** Default: standard error. */
  readonly destination?: { write(line: string): void };
}

/** A log entry with the fields of its logger and of that logger's parents. Secrets are redacted. */
export interface LogEntry {
  /** pino's: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal. */
  readonly level: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly pid?: number;
  readonly message?: string;
  readonly request_id?: string;
  readonly instance?: string;
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string };
  readonly [field: string]: unknown;
}

/** Field names whose values are redacted, at the top level and one level below. */
const SECRETS = [
  "password",
  "admin_password",
  "token",
  "join_token",
  "secret",
  "transport_url",
  "authorization",
  "x-auth-token",
  "x-subject-token",
];

/** Creates a logger on pino. It writes synchronously, so that nothing is lost when the process is killed. */
export function createNodeLogger(options: NodeLoggerOptions = {}): Logger {
  const { level = "info", format } = options;
  const destination = options.destination ?? standardError();
  const quoted = SECRETS.map((name) => `["${name}"]`);
  return new NodeLogger(
    pino(
      {
        level,
        base: { pid: process.pid },
        messageKey: "message",
        errorKey: "err",
        redact: { paths: [...quoted, ...quoted.map((name) => `*${name}`)], censor: "****" },
      },
      format === undefined ? destination : formatted(destination, format),
    ),
  );
}

function formatted(
  destination: { write(line: string): void },
  format: (entry: LogEntry) => string,
): { write(json: string): void } {
  return { write: (json) => destination.write(`${format(JSON.parse(json) as LogEntry)}\n`) };
}

/** Max bytes of lines buffered while the disk is full; later lines are dropped. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** Ignores write errors: a log that cannot be written, for example on a full disk, must not end the process. */
function standardError(): { write(line: string): void } {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_BUFFERED_BYTES });
  destination.on("error", () => undefined);
  return destination;
}

class NodeLogger extends LevelLogger {
  readonly #pino: pino.Logger;

  constructor(logger: pino.Logger) {
    super();
    this.#pino = logger;
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#pino[level](fields, message);
  }

  child(fields: LogFields): Logger {
    return new NodeLogger(this.#pino.child({ ...fields }));
  }
}
