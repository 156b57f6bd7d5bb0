import type { Logger } from "../../runtime/logger.js";
import { nodeClock } from "../../runtime/node/node-clock.js";
import { nodeScope } from "../../runtime/node/node-scope.js";
import { nodeTimers } from "../../runtime/node/node-timers.js";
import { terminalText } from "../../runtime/terminal-text.js";
import { type ContainedCall, Containment, titleOf, type UnhandledError } from "../../virt/containment.js";
import { textOf } from "../../virt/driver-error.js";
import { VirtDriverTimeout } from "../../virt/errors.js";
import { firstPlace, placeOf } from "../../virt/stack-place.js";
import { waitFor, waitText } from "../../virt/waiting.js";
import { ExitCode } from "../ui/exit-code.js";
import { LoopWatchdog } from "./loop-watchdog.js";

/** Keeps a driver that is not built in from ending the process, or from failing in it unheard. */
export class DriverGuard {
  readonly #program: string;
  #containment: Containment | undefined;
  #ended = false;
  #hear: (unhandledError: UnhandledError) => void = (unhandledError) => this.#reportOrEnd(unhandledError);

  constructor(program: string) {
    this.#program = program;
  }

  /** From the first time on, the process is guarded; one that loads no such driver pays nothing. */
  open(): Containment {
    if (this.#containment !== undefined) {
      return this.#containment;
    }
    const containment = new Containment(nodeScope<ContainedCall>(), nodeClock());
    this.#containment = containment;
    keepFromOutput(containment);
    process.on("exit", (code) => this.#ending(code, containment.current));
    process.on("uncaughtException", (error) => this.#strayed(containment, "exception", error));
    process.on("unhandledRejection", (error) => this.#strayed(containment, "rejection", error));
    return containment;
  }

  /** Loads a module, and says every 10 s that it does. @throws {VirtDriverTimeout} */
  load<T>(driver: string, load: () => Promise<T>, limit: number): Promise<T> {
    const awaited = { driver, method: "import", limit };
    return new Promise((resolve, reject) => {
      const end = waitFor(nodeTimers(), {
        limit,
        onProgress: (passed) => this.#complain(`waiting for ${waitText(awaited, passed)}`),
        tooLong: () => reject(new VirtDriverTimeout(driver, "import", limit)),
      });
      this.open().load(driver, load).then(resolve, reject).finally(end);
    });
  }

  /** Hears of the drivers' errors that nobody caught; until there is one, an exception ends the process. */
  onUnhandledError(listener: (unhandledError: UnhandledError) => void): void {
    this.#hear = listener;
  }

  /** Watches the event loop as long as a driver is contained. @returns what ends it */
  watchLoop(logger: Logger, format: { readonly json: boolean }): () => Promise<void> {
    if (this.#containment === undefined) {
      return async () => {};
    }
    const watchdog = new LoopWatchdog(logger, format);
    this.#containment.onCall((call) => watchdog.note(titleOf(call)));
    return () => watchdog.close();
  }

  /** Node calls it inside of process.exit, within the scope of who called that. */
  #ending(code: number, call: ContainedCall | undefined): void {
    if (call === undefined || this.#ended) {
      return;
    }
    process.exitCode = ExitCode.failure;
    this.#complain(
      `driver ${call.driver} ended the process by process.exit(${code}) in ${titleOf(call)}${callerOfExit()}; ` +
        "a driver has to throw instead",
    );
  }

  #strayed(containment: Containment, kind: UnhandledError["kind"], error: unknown): void {
    const unhandledError = containment.recordUnhandled(kind, error);
    if (unhandledError === null) {
      this.#end(error instanceof Error ? (error.stack ?? textOf(error)) : `thrown: ${textOf(error)}`);
    } else {
      this.#hear(unhandledError);
    }
  }

  #reportOrEnd({ call, kind, error }: UnhandledError): void {
    const what = `driver ${call.driver}: ${kind} that nothing caught, of ${titleOf(call)}: ${textOf(error)}${place(error)}`;
    if (kind === "exception") {
      this.#end(what);
    }
    this.#complain(what);
  }

  #end(what: string): never {
    // A driver may be what this runs on behalf of.
    this.#ended = true;
    this.#complain(what);
    process.exit(ExitCode.failure);
  }

  #complain(text: string): void {
    process.stderr.write(`${terminalText(`${this.#program}: ${text}`)}\n`);
  }
}

/** What a driver prints is no part of a program's output, which may be JSON: it goes where the log goes. */
function keepFromOutput(containment: Containment): void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = ((...args: Parameters<typeof write>) =>
    containment.current === undefined ? write(...args) : stderr.write(...args)) as typeof stdout.write;
}

/** Where an error was made, outside of Node. */
function place(error: unknown): string {
  return inBrackets(placeOf(error));
}

/** The line that called process.exit; a listener of its event finds it on the stack. */
function callerOfExit(): string {
  const frames = (new Error("exit").stack ?? "").split("\n");
  return inBrackets(firstPlace(frames.slice(frames.findIndex((line) => line.includes("node:")))));
}

const inBrackets = (found: string | undefined): string => (found === undefined ? "" : ` (${found})`);
