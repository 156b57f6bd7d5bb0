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

/** Columns of the bar itself. */
const WIDTH = 30;

/** One line on standard error, redrawn in place; nothing at all where that is no terminal. */
export class ProgressBar {
  readonly #stream: Pick<NodeJS.WriteStream, "write" | "isTTY">;
  #drawn = "";

  constructor(stream: Pick<NodeJS.WriteStream, "write" | "isTTY"> = process.stderr) {
    this.#stream = stream;
  }

  get isVisible(): boolean {
    return this.#stream.isTTY === true;
  }

  /** @param total 0: not known */
  update(what: string, done: number, total: number): void {
    if (!this.isVisible) {
      return;
    }
    const share = total === 0 ? 0 : done / total;
    const bar = total === 0 ? "" : `[${"#".repeat(Math.floor(share * WIDTH)).padEnd(WIDTH)}] `;
    const line = `${bar}${what}: ${done}${total === 0 ? "" : ` of ${total}`}`;
    // A terminal that draws each of ten thousand steps is slower than the work.
    const step = `${what} ${Math.floor(share * 100)} ${total === 0 ? done : ""}`;
    if (step === this.#drawn) {
      return;
    }
    this.#drawn = step;
    this.#stream.write(`\r\u001b[2K${line}`);
  }

  clear(): void {
    if (this.#drawn !== "") {
      this.#stream.write("\r\u001b[2K");
    }
    this.#drawn = "";
  }
}
