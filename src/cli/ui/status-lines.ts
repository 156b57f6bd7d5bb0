import type { ComponentState, ComponentStatus } from "../../control-plane/local/component.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import { groupBy } from "../../runtime/collections.js";
import { terminalText } from "../../runtime/error-messages.js";
import type { CancelTimer, Timers } from "../../runtime/time.js";
import { wrapWords } from "./table.js";
import type { Terminal } from "./terminal.js";

/** Milliseconds between two drawings, since thousands of hosts change faster than anyone can read. */
const DRAW_EVERY = 100;
/** Milliseconds between two plain lines of a component whose state does not change. */
const LINE_EVERY = 5_000;

/**
 * Displays the status of each component. On a terminal the lines are redrawn in place, and summarized if there are too many.
 * Otherwise it prints a line when a state changes, and occasionally when only the detail does. `pause` leaves the lines in
 * place, so that other text can be printed below them; `end` stops for good.
 */
export class StatusLines {
  readonly #terminal: Terminal;
  readonly #timers: Pick<Timers, "after">;
  readonly #statuses = new Map<string, ComponentStatus>();
  /** Rows of the terminal that the last drawing used. */
  #drawn = 0;
  /** The text of the last drawing. */
  #text = "";
  #cancelDraw: CancelTimer | undefined;
  /** By component: cancels the interval in which it prints no further line. */
  readonly #quiet = new Map<string, CancelTimer>();
  readonly #printed = new Map<string, string>();

  constructor(terminal: Terminal, timers: Pick<Timers, "after">) {
    this.#terminal = terminal;
    this.#timers = timers;
  }

  update(status: ComponentStatus): void {
    const before = this.#statuses.get(status.name);
    this.#statuses.set(status.name, status);
    if (!this.#terminal.interactive) {
      this.#line(status, before?.state !== status.state);
    } else if (this.#cancelDraw === undefined) {
      this.#draw();
      this.#cancelDraw = this.#timers.after(DRAW_EVERY, () => {
        this.#cancelDraw = undefined;
        this.#draw();
      });
    }
  }

  /** Starts a new block for further updates, below the text that is printed next. */
  pause(): void {
    if (this.#cancelDraw !== undefined) {
      this.#cancelDraw();
      this.#cancelDraw = undefined;
      this.#draw();
    }
    this.#drawn = 0;
  }

  /** Draws the last state, and stops. */
  end(): void {
    this.pause();
    for (const cancel of this.#quiet.values()) {
      cancel();
    }
    this.#quiet.clear();
  }

  #line(status: ComponentStatus, isNew: boolean): void {
    const text = this.#textOf(status);
    if (text === this.#printed.get(status.name) || (!isNew && (!status.isSum || this.#quiet.has(status.name)))) {
      return;
    }
    this.#printed.set(status.name, text);
    this.#terminal.print(text);
    this.#quiet.get(status.name)?.();
    if (status.isSum) {
      const cancel = this.#timers.after(LINE_EVERY, () => {
        this.#quiet.delete(status.name);
        this.#line(this.#statuses.get(status.name) ?? status, false);
      });
      this.#quiet.set(status.name, cancel);
    }
  }

  #draw(): void {
    const all = [...this.#statuses.values()].map((status) => this.#textOf(status)).join("\n");
    const text = this.#rowsOf(all) < this.#terminal.rows ? all : this.#short();
    if (text === this.#text && this.#drawn > 0) {
      return;
    }
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A\u001b[J` : "";
    this.#terminal.write(`${up}${text}\n`);
    this.#drawn = this.#rowsOf(text);
    this.#text = text;
  }

  /** Returns the rows that a text needs, since the terminal wraps longer lines. */
  #rowsOf(text: string): number {
    const { columns } = this.#terminal;
    return text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(visible(line).length / columns)), 0);
  }

  /** Returns one line per state, with the number and names of its components, as far as the terminal has rows. */
  #short(): string {
    const [first, ...others] = this.#statuses.values();
    const groups = [...groupBy(others, ({ state }) => state)].map(([state, statuses]): ComponentStatus => {
      const [only] = statuses as [ComponentStatus, ...ComponentStatus[]];
      const detail = hostsInShort(statuses.map(({ name }) => name));
      return statuses.length === 1 ? only : { ...only, state, name: `${statuses.length} processes`, detail };
    });
    const lines = (first === undefined ? groups : [first, ...groups]).map((status) => this.#textOf(status));
    const fitting = lines.filter((_line, index) => {
      return this.#rowsOf(lines.slice(0, index + 1).join("\n")) < this.#terminal.rows;
    });
    return fitting.join("\n");
  }

  #textOf(status: ComponentStatus): string {
    const { interactive, columns } = this.#terminal;
    const width = Math.max(...[...this.#statuses.keys()].map((name) => Math.min(name.length, LONGEST_NAME)));
    const head = `${MARKS[status.state]} ${status.name.padEnd(width)}  ${status.state.padEnd(8)} `;
    // The last column stays free, since some terminals wrap when it is written.
    const room = interactive ? Math.max(20, columns - 1 - head.length) : Number.POSITIVE_INFINITY;
    const [first = "", ...rest] = wrapWords(terminalText(status.detail), room).split("\n");
    // A longer word, such as a path, is not indented, so that it can be copied as one piece.
    const [beside, below] = first.length > room ? ["", [first, ...rest]] : [first, rest];
    const indented = below.map((line) => (line.length > room ? line : " ".repeat(head.length) + line));
    return [`${head}${beside}`.trimEnd(), ...indented].map((line) => this.#color(status.state)(line)).join("\n");
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

/** Names are padded to at most this width. */
const LONGEST_NAME = 24;

/** Removes colours. */
function visible(line: string): string {
  return line.replaceAll(COLOURS, "");
}

const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g");

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
