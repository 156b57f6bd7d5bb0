import { pino } from "pino";
import type { LogFields, Logger } from "../logger.js";
import { prettyStream } from "./pretty-stream.js";

export interface NodeLoggerOptions {
  /** The least level that is written. Default `info`. */
  readonly level?: "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";
  /** `pretty` is the line format of OpenStack's services; `json` is one object a line. Default `pretty`. */
  readonly format?: "pretty" | "json";
  /** Colours in `pretty`. Default: none. */
  readonly colour?: boolean;
  /** Default: standard error. */
  readonly destination?: { write(line: string): void };
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
  const { level = "info", format = "pretty", colour = false } = options;
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
      format === "pretty" ? prettyStream(destination, colour) : destination,
    ),
  );
}

/** Bytes of lines that wait for a disk that is full; later ones are dropped. */
const KEPT = 1024 * 1024;

/** A log that cannot be written, as on a full disk, must not end the process whose log it is. */
function standardError(): { write(line: string): void } {
  const destination = pino.destination({ dest: 2, sync: true, maxLength: KEPT });
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
