import picocolors from "picocolors";
import { terminalText } from "../../runtime/error-messages.js";

/** Standard output and error as a command sees them. */
export type Terminal = Readonly<ReturnType<typeof createTerminal>>;

/** Colour and redrawing only on a terminal, and not under NO_COLOR. */
export function createTerminal() {
  const interactive = process.stdout.isTTY === true;
  const color = interactive && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb";
  return {
    interactive,
    get columns(): number {
      return process.stdout.columns ?? 120;
    },
    get rows(): number {
      return process.stdout.rows ?? Number.POSITIVE_INFINITY;
    },
    colors: picocolors.createColors(color),
    /** A line on standard output. */
    print: (text: string): void => void process.stdout.write(`${terminalText(text)}\n`),
    /** A line on standard error. */
    complain: (text: string): void => void process.stderr.write(`${terminalText(text)}\n`),
    /** Raw text on standard output, for redrawing: values in it have to be escaped. */
    write: (text: string): void => void process.stdout.write(text),
  };
}

/** Nobody looks at it. */
export const quietTerminal: Terminal = {
  interactive: false,
  columns: 120,
  rows: Number.POSITIVE_INFINITY,
  colors: picocolors.createColors(false),
  print: () => undefined,
  complain: () => undefined,
  write: () => undefined,
};
