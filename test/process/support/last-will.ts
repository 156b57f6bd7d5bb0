import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

/** A shell in a separate session. Its stdin ends only when this process ends. */
const WAIT_AND_RUN = 'cat >/dev/null; exec "$0" "$@"';

/** A command that runs once this process has ended, however that happens, or earlier on request. */
export class LastWill {
  readonly #shell: ChildProcess;

  constructor(program: string, args: readonly string[]) {
    this.#shell = spawn("/bin/bash", ["-c", WAIT_AND_RUN, program, ...args], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#shell.unref();
  }

  /** Runs the command now, and waits for its end. */
  async execute(): Promise<void> {
    const { exitCode, signalCode, stdin } = this.#shell;
    if (exitCode !== null || signalCode !== null) {
      return;
    }
    const ended = once(this.#shell, "exit");
    this.#shell.ref();
    stdin?.end();
    await ended;
  }
}
