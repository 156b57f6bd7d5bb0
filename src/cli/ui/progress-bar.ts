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
