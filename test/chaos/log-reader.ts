import type { Program } from "../process/support/program.js";

/** Reads a program's log incrementally. */
export class LogReader {
  readonly #program: Program;
  #read = 0;

  constructor(program: Program) {
    this.#program = program;
  }

  /** Returns complete lines since the previous call. */
  newLines(): string {
    const { stderr } = this.#program;
    const end = stderr.lastIndexOf("\n") + 1;
    const lines = stderr.slice(this.#read, end);
    this.#read = end;
    return lines;
  }
}
