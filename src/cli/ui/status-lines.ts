import type { ComponentState, ComponentStatus } from "../../cluster/local/component.js";
import type { Terminal } from "./terminal.js";

/**
 * One line a component: redrawn in place on a terminal, otherwise a plain line when its state changes.
 * `pause` leaves the lines as they are, so that other text can be printed below.
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
    if (this.#terminal.interactive) this.#redraw();
    else if (before?.state !== status.state) this.#terminal.print(this.#line(status));
  }

  /** Further updates start a new block below what is printed next. */
  pause(): void {
    this.#drawn = 0;
  }

  #redraw(): void {
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : "";
    const lines = [...this.#statuses.values()].map((status) => `\u001b[2K${this.#line(status)}`);
    this.#terminal.write(`${up}${lines.join("\n")}\n`);
    this.#drawn = lines.length;
  }

  #line(status: ComponentStatus): string {
    const width = Math.max(...[...this.#statuses.keys()].map((name) => name.length));
    const text = `${MARKS[status.state]} ${status.name.padEnd(width)}  ${status.state.padEnd(8)} ${status.detail}`;
    const cut = this.#terminal.interactive ? text.slice(0, this.#terminal.columns - 1) : text;
    return this.#color(status.state)(cut.trimEnd());
  }

  #color(state: ComponentState): (text: string) => string {
    const { green, red, yellow, dim } = this.#terminal.colors;
    if (state === "ready") return green;
    if (state === "failed" || state === "killed") return red;
    return state === "stopped" ? dim : yellow;
  }
}

const MARKS: Readonly<Record<ComponentState, string>> = {
  starting: "…",
  waiting: "…",
  ready: "✓",
  stopping: "…",
  stopped: "-",
  failed: "✗",
  killed: "✗",
};
