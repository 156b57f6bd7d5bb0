import type { ComponentState, ComponentStatus } from "../../cluster/local/component.js";
import { terminalText } from "../../runtime/terminal-text.js";
import { wrapWords } from "./table.js";
import type { Terminal } from "./terminal.js";

/**
 * What each component does: redrawn in place on a terminal that has room for all of them, otherwise a plain line when a
 * state changes. `pause` leaves the lines as they are, so that other text can be printed below.
 */
export class StatusLines {
  readonly #terminal: Terminal;
  readonly #statuses = new Map<string, ComponentStatus>();
  #drawn = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  update(status: ComponentStatus): void {
    const before = this.#statuses.get(status.name);
    this.#statuses.set(status.name, status);
    if (this.#terminal.interactive && this.#statuses.size < this.#terminal.rows) {
      this.#redraw();
    } else if (before?.state !== status.state) {
      this.#terminal.print(this.#text(status));
    }
  }

  /** Further updates start a new block below what is printed next. */
  pause(): void {
    this.#drawn = 0;
  }

  #redraw(): void {
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : "";
    const text = [...this.#statuses.values()].map((status) => this.#text(status)).join("\n");
    this.#terminal.write(`${up}${text}\n`);
    this.#drawn = text.split("\n").length;
  }

  #text(status: ComponentStatus): string {
    const { interactive, columns } = this.#terminal;
    const width = Math.max(...[...this.#statuses.keys()].map((name) => name.length));
    const head = `${MARKS[status.state]} ${status.name.padEnd(width)}  ${status.state.padEnd(8)} `;
    // The last column is left free: some terminals go to the next line when it is written.
    const room = interactive ? Math.max(20, columns - 1 - head.length) : Number.POSITIVE_INFINITY;
    const [first = "", ...rest] = wrapWords(terminalText(status.detail), room)
      .split("\n")
      .flatMap((line) => pieces(line, room));
    const lines = [`${head}${first}`.trimEnd(), ...rest.map((line) => " ".repeat(head.length) + line)];
    return lines.map((line) => this.#color(status.state)(line)).join("\n");
  }

  #color(state: ComponentState): (text: string) => string {
    const { green, red, yellow, dim } = this.#terminal.colors;
    if (state === "ready") {
      return green;
    }
    if (state === "failed" || state === "killed") {
      return red;
    }
    return state === "stopped" ? dim : yellow;
  }
}

/** A line in pieces that fit, for words that are longer than the room there is. */
function pieces(line: string, room: number): string[] {
  const count = Number.isFinite(room) ? Math.max(1, Math.ceil(line.length / room)) : 1;
  return count === 1
    ? [line]
    : Array.from({ length: count }, (_, index) => line.slice(index * room, (index + 1) * room));
}

const MARKS: Readonly<Record<ComponentState, string>> = {
  starting: "…",
  waiting: "…",
  ready: "✓",
  restarting: "…",
  stopping: "…",
  stopped: "-",
  failed: "✗",
  killed: "✗",
};
