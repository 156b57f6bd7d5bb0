import { pino } from "pino";
import type { LogFields, Logger } from "../runtime.js";

export interface NodeLoggerOptions {
  /** The least level that is written. Default `info`. */
  readonly level?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** Writes an entry as text, one or more lines. Default: one JSON object a line. */
  readonly format?: (entry: LogEntry) => string;
  /** Default: standard error. */
  readonly destination?: { write(line: string): void };
}

/** What is logged, with the fields of the logger and those of its parents; secrets are left out. */
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

/** Names whose values never reach a log, at the top of the fields and one level down. */
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

/** A logger on pino; writes synchronously, so that nothing is lost when the process dies. */
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

/** Bytes of lines that wait for a disk that is full; later ones are dropped. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** A log that cannot be written, as on a full disk, must not end the process whose log it is. */
function standardError(): { write(line: string): void } {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: MAX_BUFFERED_BYTES });
  destination.on("error", () => undefined);
  return destination;
}

class NodeLogger implements Logger {
  readonly #pino: pino.Logger;

  constructor(logger: pino.Logger) {
    this.#pino = logger;
  }

  trace(message: string, fields: LogFields = {}): void {
    this.#pino.trace(fields, message);
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#pino.error(fields, message);
  }

  fatal(message: string, fields: LogFields = {}): void {
    this.#pino.fatal(fields, message);
  }

  child(fields: LogFields): Logger {
    return new NodeLogger(this.#pino.child({ ...fields }));
  }
}
