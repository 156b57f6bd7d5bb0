import { createColors } from "picocolors";
import { terminalText, terminalValue } from "../../runtime/error-messages.js";
import type { LogEntry } from "../../runtime/node/node-logger.js";
import { createLogger, type Logger } from "../../runtime/runtime.js";

/** OpenStack's names of pino's log levels. */
export const LOG_LEVELS: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARNING",
  50: "ERROR",
  60: "CRITICAL",
};

/** Formats a log entry in the line format of OpenStack's services. */
export function logLine(entry: LogEntry, colour: boolean): string {
  const { level, time, pid, message, request_id, instance, err, ...fields } = entry;
  const paint = createColors(colour);
  const name = LOG_LEVELS[level] ?? String(level);
  const painted = level >= 50 ? paint.red(name) : level >= 40 ? paint.yellow(name) : name;
  const parts = [paint.dim(`${stamp(time)}${pid === undefined ? "" : ` ${pid}`}`), painted];
  if (request_id !== undefined) {
    parts.push(paint.dim(`[${terminalValue(request_id)}]`));
  }
  if (instance !== undefined) {
    parts.push(`[instance: ${terminalValue(instance)}]`);
  }
  parts.push(terminalValue(message ?? ""));
  for (const [key, value] of Object.entries(fields)) {
    parts.push(paint.dim(`${key}=${terminalValue(typeof value === "string" ? quote(value) : JSON.stringify(value))}`));
  }
  if (err) {
    parts.push(terminalValue(`${err.type ?? "Error"}: ${err.message ?? ""}`));
    if (level <= 20 || level >= 50) {
      return `${parts.join(" ")}\n${terminalText(err.stack ?? "")}`.trimEnd();
    }
  }
  return parts.join(" ");
}

/** Formats a time as local time, as oslo.log does. */
function stamp(time: number): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function quote(value: string): string {
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

/** The logger of commands whose output is their result. */
export const quietLogger: Logger = createLogger(
  () => undefined,
  () => quietLogger,
);
