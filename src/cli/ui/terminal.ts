import picocolors from "picocolors";
import { terminalText } from "../../runtime/error-messages.js";

/** Standard output and error of a command. */
export type Terminal = Readonly<ReturnType<typeof createTerminal>>;

/** Creates the terminal. Colour and redrawing need a terminal; NO_COLOR disables colour. */
export function createTerminal() {
  const interactive = process.stdout.isTTY === true;
  const color = interactive && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb";
  return {
    interactive,
    get columns(): number {
      // A pseudo-terminal whose size nobody has set has 0 columns and rows.
      return process.stdout.columns || 120;
    },
    get rows(): number {
      return process.stdout.rows || Number.POSITIVE_INFINITY;
    },
    colors: picocolors.createColors(color),
    /** Prints a line on standard output. */
    print: (text: string): void => void process.stdout.write(`${terminalText(text)}\n`),
    /** Prints a line on standard error. */
    complain: (text: string): void => void process.stderr.write(`${terminalText(text)}\n`),
    /** Writes raw text to standard output, for redrawing. Values in it must be escaped by the caller. */
    write: (text: string): void => void process.stdout.write(text),
  };
}

/** A terminal that discards all output. */
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

/** A progress bar: one line on standard error, redrawn in place. Prints nothing if that is not a terminal. */
export class ProgressBar {
  readonly #stream: Pick<NodeJS.WriteStream, "write" | "isTTY">;
  #drawn = "";

  constructor(stream: Pick<NodeJS.WriteStream, "write" | "isTTY"> = process.stderr) {
    this.#stream = stream;
  }

  get isVisible(): boolean {
    return this.#stream.isTTY === true;
  }

  /** @param total 0: unknown */
  update(what: string, done: number, total: number): void {
    if (!this.isVisible) {
      return;
    }
    const share = total === 0 ? 0 : done / total;
    const bar = total === 0 ? "" : `[${"#".repeat(Math.floor(share * WIDTH)).padEnd(WIDTH)}] `;
    const line = `${bar}${what}: ${done}${total === 0 ? "" : ` of ${total}`}`;
    // Drawing each of ten thousand steps would take longer than the work.
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
