import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nodeTimers } from "../../runtime/node/node-builtins.js";
import type { Attempt } from "../../testing/attempt.js";
import type { WorkSubject } from "../../testing/contract-case.js";
import type { HarnessMemory } from "../../testing/harness-fixtures.js";
import type { Pair } from "../ui/command-line.js";

export interface CheckCommandOptions {
  readonly option?: readonly Pair[];
  readonly virtualTime?: true;
  readonly waive?: readonly Pair[];
  readonly with?: string;
  readonly only?: readonly string[];
  readonly limit: number;
  readonly verbose?: true;
  readonly json?: true;
}

/** A rule, or a part of one, to run in a folder. */
interface Task {
  readonly code: string;
  readonly folder: string;
  /** Methods that did not return in an earlier rule; a rule that calls one ends there. */
  readonly hung: readonly string[];
}

/** An order to run a complete rule, a rule up to a kill, the inspection after it, or the cleanup after a dead process. */
export type Order =
  | (Task & { readonly do: "rule" })
  | (Task & { readonly do: "begin"; readonly kill: KillMoment })
  | (Task & {
      readonly do: "look";
      readonly memory: HarnessMemory;
      readonly subject: WorkSubject;
      readonly killed: string;
    })
  | { readonly do: "clear"; readonly folder: string; readonly memory: HarnessMemory | null };

/** When a process is killed during its work: at an I/O call, after a number of milliseconds, or at its end. */
export type KillMoment = { readonly call: number } | { readonly after: number } | "at its end";

/** Messages to the child process. */
export type ToChild =
  | { readonly do: "open"; readonly driver: string; readonly options: CheckCommandOptions }
  | Order
  | { readonly do: "stop" };

/** Messages from the child process. */
export type FromChild =
  | {
      readonly is: "opened";
      readonly driver: string;
      readonly apiVersion: string;
      readonly kills: boolean;
      readonly canary: boolean;
    }
  | { readonly is: "refused"; readonly message: string }
  | { readonly is: "call"; readonly id: number; readonly method: string }
  | { readonly is: "back"; readonly id: number }
  | { readonly is: "placed"; readonly memory: HarnessMemory }
  | { readonly is: "begun"; readonly subject: WorkSubject; readonly memory: HarnessMemory }
  | { readonly is: "done"; readonly attempt: Attempt; readonly unreached: string | null }
  | { readonly is: "cleared"; readonly found: readonly string[] }
  | { readonly is: "fatal"; readonly text: string };

/** Maximum number of output lines that are printed for a failed rule. */
const MAX_OUTPUT_LINES = 20;

/** Minimum timeout in milliseconds for a process without a driver call, since it starts slowly on a busy machine. */
const IDLE = 30_000;

type ReadyMessage = Extract<FromChild, { readonly is: "opened" | "refused" }>;

/** The end of a child process. */
export interface Ended {
  readonly is: "ended";
  /** The driver's method that was running. */
  readonly method: string | null;
  /** `limit`: it was killed by the timeout. */
  readonly by: "limit" | "fatal" | "exit";
  /** `it was still at it after 30 s`, `exit code 3`, `SIGSEGV`, or the uncaught error. */
  readonly how: string;
  readonly signal: string | null;
  /** The progress of work that was to be killed. */
  readonly begun: { readonly subject: WorkSubject; readonly memory: HarnessMemory; readonly at: number } | null;
  /** Identifies the guests of the rule. */
  readonly memory: HarnessMemory | null;
  readonly at: number;
}

export type RuleReply =
  | { readonly is: "done"; readonly attempt: Attempt; readonly unreached: string | null }
  | { readonly is: "cleared"; readonly found: readonly string[] }
  | Ended;

export interface RuleProcessOptions {
  readonly driver: string;
  readonly options: CheckCommandOptions;
  /** Called when a method of the driver is called. */
  readonly onCall: (method: string) => void;
}

/** A child process that runs rules, with timeouts for its calls. */
export class RuleProcess {
  readonly ready: Promise<ReadyMessage | Ended>;
  readonly #child: ChildProcess;
  readonly #limit: number;
  readonly #onCall: (method: string) => void;
  readonly #timers = nodeTimers();
  /** Pending calls of the driver: method, and a function that cancels the timeout. */
  readonly #calls = new Map<number, readonly [method: string, cancel: () => void]>();
  readonly #printed: string[] = [];
  readonly #gone: Promise<void>;
  #cancelIdle: () => void = () => {};
  #resolveReply: (reply: RuleReply) => void = () => {};
  #resolveReady: (message: ReadyMessage | Ended) => void = () => {};
  #begun: Ended["begun"] = null;
  #memory: HarnessMemory | null = null;
  #ending: Pick<Ended, "by" | "how" | "method"> | null = null;
  #ended: Ended | null = null;

  constructor({ driver, options, onCall }: RuleProcessOptions) {
    this.#limit = options.limit * 1000;
    this.#onCall = onCall;
    this.ready = new Promise((resolve) => {
      this.#resolveReady = resolve;
    });
    const child = startRuleProgram();
    this.#child = child;
    child.on("message", (message) => this.#hear(message as FromChild));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8");
      stream?.on("data", (text: string) => {
        if (options.verbose === true) {
          process.stderr.write(text);
        }
        this.#printed.push(...text.split("\n").filter((line) => line !== ""));
        this.#printed.splice(0, this.#printed.length - MAX_OUTPUT_LINES);
      });
    }
    // Not "close", because processes that the driver started may keep the pipes open. The last messages arrive before
    // "disconnect".
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const disconnected = new Promise<void>((resolve) => child.once("disconnect", () => resolve()));
    this.#gone = Promise.all([exited, disconnected]).then(() => this.#end());
    this.#send({ do: "open", driver, options });
    this.#idle();
  }

  /** The latest output lines. */
  get printed(): readonly string[] {
    return this.#printed;
  }

  ask(order: Order): Promise<RuleReply> {
    this.#begun = null;
    this.#memory = null;
    this.#printed.length = 0;
    if (this.#ended !== null) {
      return Promise.resolve(this.#ended);
    }
    return new Promise((resolve) => {
      this.#resolveReply = (reply) => {
        this.#rest();
        resolve(reply);
      };
      this.#send(order);
      this.#idle();
    });
  }

  /** Aborts the running rule; its result is still sent. */
  stop(): void {
    this.#send({ do: "stop" });
  }

  /** Kills the process, and processes in its group that it started. */
  async kill(): Promise<void> {
    this.killNow();
    await this.#gone;
  }

  killNow(): void {
    this.#rest();
    try {
      process.kill(-(this.#child.pid ?? 0), "SIGKILL");
    } catch {
      // The group no longer exists.
    }
  }

  #send(message: ToChild): void {
    if (this.#child.connected) {
      this.#child.send(message, () => {});
    }
  }

  #hear(message: FromChild): void {
    this.#idle();
    switch (message.is) {
      case "opened":
      case "refused":
        this.#rest();
        this.#resolveReady(message);
        return;
      case "call": {
        this.#onCall(message.method);
        const cancel = this.#timers.after(this.#limit, () => this.#overdue(message.method, this.#limit));
        this.#calls.set(message.id, [message.method, cancel]);
        return;
      }
      case "back":
        this.#calls.get(message.id)?.[1]();
        this.#calls.delete(message.id);
        return;
      case "placed":
        this.#memory = message.memory;
        return;
      case "begun":
        this.#begun = { ...message, at: performance.now() };
        this.#memory = message.memory;
        return;
      case "fatal":
        this.#ending = { by: "fatal", how: message.text, method: this.#underWay() };
        return;
      default:
        this.#resolveReply(message);
    }
  }

  /** Starts the timeout without a driver call, since the module may not load, or a hook may hang. */
  #idle(): void {
    this.#cancelIdle();
    const limit = Math.max(this.#limit, IDLE);
    this.#cancelIdle = this.#timers.after(limit, () => {
      if (this.#calls.size === 0) {
        this.#overdue(null, limit);
      }
    });
  }

  #rest(): void {
    this.#cancelIdle();
    for (const [, cancel] of this.#calls.values()) {
      cancel();
    }
    this.#calls.clear();
  }

  #overdue(method: string | null, limit: number): void {
    this.#ending = { by: "limit", how: `it did not return within ${limit / 1000} s`, method };
    this.killNow();
  }

  #underWay(): string | null {
    return [...this.#calls.values()].at(-1)?.[0] ?? null;
  }

  #end(): void {
    const { exitCode, signalCode } = this.#child;
    const how = signalCode ?? `exit code ${exitCode}`;
    this.#ended = {
      is: "ended",
      ...(this.#ending ?? { by: "exit", how, method: this.#underWay() }),
      signal: signalCode,
      begun: this.#begun,
      memory: this.#memory,
      at: performance.now(),
    };
    this.#rest();
    // Processes that it started may keep the other ends of the pipes open.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#resolveReady(this.#ended);
    this.#resolveReply(this.#ended);
  }
}

/**
 * Starts a child process for rules, in a separate process group, so that it can be killed with all processes that it
 * started.
 */
function startRuleProgram(): ChildProcess {
  // Beside this folder, in the source and in the bundle.
  const program = fileURLToPath(new URL("../compute-agent.js", import.meta.url));
  return spawn(process.execPath, [program, "driver", "check-rules"], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
}
