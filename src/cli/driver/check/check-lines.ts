import type { CaseOutcome, CaseResult } from "../../../testing/attempt.js";
import { wrapWords } from "../../ui/table.js";
import type { Terminal } from "../../ui/terminal.js";

const WORDS: Readonly<Record<CaseOutcome, string>> = {
  passed: "ok",
  failed: "FAILED",
  skipped: "skipped",
  waived: "waived",
  unreached: "not reached",
};

const MARGIN = " ".repeat(8);

/** What is shown of one rule. */
export function lineOf(result: CaseResult, { colors, columns }: Terminal): string {
  const { code, section, rule, outcome, message = "", milliseconds = 0 } = result;
  const { green, red, dim, yellow } = colors;
  const paint = { passed: green, failed: red, skipped: dim, waived: yellow, unreached: dim }[outcome];
  const line = `${paint(WORDS[outcome].padEnd(7))} ${section.padEnd(4)} ${code}`;
  const time = dim(`${milliseconds} ms`);
  if (outcome === "passed") {
    return `${line.padEnd(line.length + Math.max(0, 24 - code.length))} ${time}`;
  }
  if (outcome === "failed") {
    return `${line} ${time}\n${indented("rule:  ", rule, columns)}\n${indented("found: ", message, columns)}`;
  }
  const plain = WORDS[outcome].padEnd(7).length + 1 + section.padEnd(4).length + 1 + code.length + 2 + message.length;
  return plain <= columns ? `${line}: ${message}` : `${line}:\n${indented("", message, columns)}`;
}

/** What the driver printed in a rule that failed. */
export function printedOf(printed: readonly string[], { colors }: Terminal): string {
  return printed.map((line) => `${MARGIN}${colors.dim(`| ${line}`)}`).join("\n");
}

/** The text beside its label, wrapped at words. */
function indented(label: string, text: string, columns: number): string {
  const room = Math.max(20, columns - MARGIN.length - label.length);
  return wrapWords(text, room)
    .split("\n")
    .map((line, index) => `${MARGIN}${index === 0 ? label : " ".repeat(label.length)}${line}`)
    .join("\n");
}

/** The rule that is being shown, on the last line of a terminal; it goes when there is its result. */
export class RunningLine {
  readonly #terminal: Terminal;
  readonly #isVisible: boolean;
  #code = "";

  constructor(terminal: Terminal, isVisible: boolean) {
    this.#terminal = terminal;
    this.#isVisible = isVisible;
  }

  show(code: string): void {
    this.#code = code;
    this.#redraw(code);
  }

  call(method: string): void {
    this.#redraw(`${this.#code}: ${method}`);
  }

  clear(): void {
    this.#redraw(null);
  }

  #redraw(text: string | null): void {
    if (this.#isVisible) {
      this.#terminal.write(`\r\u001b[K${text === null ? "" : `...     ${text}`.slice(0, this.#terminal.columns - 1)}`);
    }
  }
}
