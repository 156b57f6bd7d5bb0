import { createLogger, type LogFields, type Logger, type LogLevel } from "../runtime/runtime.js";

export interface LogRecord {
  /** Virtual time in milliseconds since the epoch. */
  readonly time: number;
  /** The name of the logging process. */
  readonly process: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Creates a logger that passes each record to `onRecord`, with the fields of its parents. */
export function createVirtualLogger(
  onRecord: (level: LogLevel, message: string, fields: LogFields) => void,
  inherited: LogFields = {},
): Logger {
  return createLogger(
    (level, message, fields) => onRecord(level, message, { ...inherited, ...fields }),
    (fields) => createVirtualLogger(onRecord, { ...inherited, ...fields }),
  );
}
