import { Worker } from "node:worker_threads";
import { terminalText } from "../../runtime/error-messages.js";
import { nodeClock, nodeScope, nodeTimers } from "../../runtime/node/node-builtins.js";
import type { Logger } from "../../runtime/runtime.js";
import { type ContainedCall, Containment, titleOf, type UnhandledError } from "../../virt/containment.js";
import type { DriverDefinition } from "../../virt/driver.js";
import { CREATE_TIMEOUT, waitFor, waitText } from "../../virt/driver-call.js";
import { firstPlace, placeOf, textOf } from "../../virt/driver-error.js";
import { VirtDriverTimeout } from "../../virt/errors.js";
import { type LoadedDriver, loadDriver } from "../../virt/load-driver.js";
import { ExitCode } from "../ui/exit-code.js";
import { BUILT_IN_DRIVERS, NOVA_DRIVERS } from "./built-in-drivers.js";

/** Milliseconds between two heartbeats of the event loop. */
const BEAT = 500;

/** Milliseconds without a heartbeat after which the loop counts as blocked. */
const LIMIT = 2_000;

/** Bytes for the name of the last call. */
const ROOM = 512;

/** Indexes in the array that both threads share. */
const BEATS = 0;

const REPORTED = 1;

const LENGTH = 2;

/** Checks from a worker thread whether the event loop runs, since a blocked loop cannot report that itself. */
const WATCH = `
const { workerData } = require("node:worker_threads");
const { writeSync } = require("node:fs");
const state = new Int32Array(workerData.state);
const text = new Uint8Array(workerData.text);
let last = -1, since = Date.now(), looked = since, told = 0;
setInterval(() => {
  const now = Date.now();
  const beat = Atomics.load(state, ${BEATS});
  // The whole process was stopped: the loop may be about to turn.
  const slept = now - looked > ${BEAT * 3};
  looked = now;
  if (beat !== last) {
    last = beat;
    since = now;
    told = 0;
    return;
  }
  if (slept) {
    return;
  }
  const blocked = now - since;
  if (blocked >= ${LIMIT} && blocked >= 2 * told) {
    told = blocked;
    Atomics.store(state, ${REPORTED}, 1);
    const call = Buffer.from(text.slice(0, Atomics.load(state, ${LENGTH}))).toString();
    const message = "the event loop has been blocked for " + Math.round(blocked / 1000) + " s: no heartbeat is sent, and nothing else goes on. " +
      "Something computes or waits without giving way; the driver's last call was " + (call || "none");
    const json = JSON.stringify({ level: 50, time: now, pid: process.pid, message });
    try { writeSync(2, (workerData.json ? json : "compute-agent: " + message) + "\\n"); } catch {}
  }
}, ${BEAT});
`;

/** Reports when the event loop is blocked, during and after the block, with the last call of the driver. */
class LoopWatchdog {
  readonly #logger: Logger;
  readonly #state = new Int32Array(new SharedArrayBuffer(12));
  readonly #text = new Uint8Array(new SharedArrayBuffer(ROOM));
  readonly #worker: Worker;
  readonly #timer: NodeJS.Timeout;
  #beaten = performance.now();
  #last = "";

  /** @param json write reports as lines of JSON, as the rest of the log */
  constructor(logger: Logger, { json }: { readonly json: boolean }) {
    this.#logger = logger;
    const workerData = { state: this.#state.buffer, text: this.#text.buffer, json };
    this.#worker = new Worker(WATCH, { eval: true, workerData });
    this.#worker.unref();
    this.#worker.on("error", (error) => logger.warn("the event loop is no longer watched", { err: error }));
    this.#timer = setInterval(() => this.#beat(), BEAT);
    this.#timer.unref();
  }

  /** @param title the driver call that is about to be made */
  note(title: string): void {
    // After a block, calls made before the next heartbeat did not cause it: keep the name of the earlier call.
    if (performance.now() - this.#beaten < LIMIT) {
      this.#last = title;
    }
    const { written } = new TextEncoder().encodeInto(title, this.#text);
    Atomics.store(this.#state, LENGTH, written);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.terminate();
  }

  #beat(): void {
    Atomics.add(this.#state, BEATS, 1);
    const now = performance.now();
    const passed = now - this.#beaten;
    this.#beaten = now;
    if (Atomics.exchange(this.#state, REPORTED, 0) === 1) {
      this.#logger.error(
        `the event loop runs again after a block of ${Math.round(passed / 1000)} s; heartbeats, the lease and all requests waited meanwhile`,
        { last_driver_call: this.#last },
      );
    }
  }
}

/** Prevents a driver that is not built in from ending the process, or from failing without a report. */
export class DriverGuard {
  readonly #program: string;
  #containment: Containment | undefined;
  #ended = false;
  #hear: (unhandledError: UnhandledError) => void = (unhandledError) => this.#reportOrEnd(unhandledError);

  constructor(program: string) {
    this.#program = program;
  }

  /** Starts guarding the process at the first call. A process without such drivers has no overhead. */
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

  /** Loads a module, and logs every 10 s that it is still loading. @throws {VirtDriverTimeout} */
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

  /** Sets the listener for unhandled driver errors. Without one, an exception ends the process. */
  onUnhandledError(listener: (unhandledError: UnhandledError) => void): void {
    this.#hear = listener;
  }

  /** Watches the event loop while a driver is contained. @returns a function that stops watching */
  watchLoop(logger: Logger, format: { readonly json: boolean }): () => Promise<void> {
    if (this.#containment === undefined) {
      return async () => {};
    }
    const watchdog = new LoopWatchdog(logger, format);
    this.#containment.onCall((call) => watchdog.note(titleOf(call)));
    return () => watchdog.close();
  }

  /** Handles the `exit` event. Node emits it inside process.exit, so the scope is that of the caller. */
  #ending(code: number, call: ContainedCall | undefined): void {
    if (call === undefined || this.#ended) {
      return;
    }
    process.exitCode = ExitCode.failure;
    this.#complain(
      `driver ${call.driver} ended the process by process.exit(${code}) in ${titleOf(call)}${callerOfExit()}; ` +
        "a driver must throw instead",
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
    const what = `driver ${call.driver}: unhandled ${kind} in ${titleOf(call)}: ${textOf(error)}${place(error)}`;
    if (kind === "exception") {
      this.#end(what);
    }
    this.#complain(what);
  }

  #end(what: string): never {
    // This may run within a driver's scope; #ending() must not report it as the driver's exit.
    this.#ended = true;
    this.#complain(what);
    process.exit(ExitCode.failure);
  }

  #complain(text: string): void {
    process.stderr.write(`${terminalText(`${this.#program}: ${text}`)}\n`);
  }
}

/** Redirects a driver's output to stderr, where the log goes: stdout may be JSON. */
function keepFromOutput(containment: Containment): void {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = ((...args: Parameters<typeof write>) =>
    containment.current === undefined ? write(...args) : stderr.write(...args)) as typeof stdout.write;
}

/** Returns where an error was created, not counting Node's own frames. */
function place(error: unknown): string {
  return inBrackets(placeOf(error));
}

/** Returns the line that called process.exit; it is on the stack of a listener of the `exit` event. */
function callerOfExit(): string {
  const frames = (new Error("exit").stack ?? "").split("\n");
  return inBrackets(firstPlace(frames.slice(frames.findIndex((line) => line.includes("node:")))));
}

const inBrackets = (found: string | undefined): string => (found === undefined ? "" : ` (${found})`);

/**
 * Loads a driver by the value of `compute_driver`; a driver that is not built in runs under the guard.
 * @param limit milliseconds that loading may take; 0: no limit
 * @throws {InvalidDriver} {@link VirtDriverTimeout}
 */
export async function loadContained(
  name: string,
  cwd: string,
  guard: DriverGuard | null,
  limit = CREATE_TIMEOUT,
): Promise<DriverDefinition> {
  const load = (): Promise<LoadedDriver> =>
    loadDriver(name, { builtIns: BUILT_IN_DRIVERS, novaDrivers: NOVA_DRIVERS, cwd });
  if (guard === null || Object.hasOwn(BUILT_IN_DRIVERS, name)) {
    return (await load()).driver;
  }
  const { driver, file } = await guard.load(name, load, limit);
  return guard.open().over(driver, file);
}
