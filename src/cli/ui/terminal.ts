import picocolors from "picocolors";
import { terminalText } from "../../runtime/terminal-text.js";

/** Standard output and error as a command sees them. */
export interface Terminal {
  readonly interactive: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly colors: ReturnType<typeof picocolors.createColors>;
  /** A line on standard output. */
  print(text: string): void;
  /** A line on standard error. */
  complain(text: string): void;
  /** Raw text on standard output, for redrawing: values in it have to be escaped. */
  write(text: string): void;
}

/** Colour and redrawing only on a terminal, and not under NO_COLOR. */
export function createTerminal(): Terminal {
  const interactive = process.stdout.isTTY === true;
  const color = interactive && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb";
  return {
    interactive,
    get columns() {
      return process.stdout.columns ?? 120;
    },
    get rows() {
      return process.stdout.rows ?? Number.POSITIVE_INFINITY;
    },
    colors: picocolors.createColors(color),
    print: (text) => void process.stdout.write(`${terminalText(text)}\n`),
    complain: (text) => void process.stderr.write(`${terminalText(text)}\n`),
    write: (text) => void process.stdout.write(text),
  };
}
