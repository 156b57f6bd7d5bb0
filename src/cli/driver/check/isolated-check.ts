import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeRandom } from "../../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import type { CaseResult, Cause } from "../../../testing/attempt.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import {
  type CheckCommandOptions,
  type Ended,
  type FromChild,
  type KillMoment,
  type Order,
  RuleProcess,
  type RuleReply,
} from "../rule-process.js";

/** Records root causes, so that each is one failure however many rules it blocks. */
class Causes {
  readonly #rules = new Map<string, string>();
  /** Methods that never returned, with the rule that detected it. */
  readonly #hung = new Map<string, string>();
  #fatal: string | null = null;

  get hung(): readonly string[] {
    return [...this.#hung.keys()];
  }

  /** The reason why no further rule can run: without `create` there is no driver. */
  get fatal(): string | null {
    return this.#fatal;
  }

  /**
   * Records the cause of a rule's failure.
   * @returns the earlier rule with the same cause, as a message; null: a new cause
   */
  recordFailure(cause: Cause, code: string): string | null {
    const key = `${cause.method}: ${withoutNames(cause.text)}`;
    const before = this.#rules.get(key);
    if (before !== undefined) {
      return `${cause.method} failed as in ${before}`;
    }
    this.#rules.set(key, code);
    if (cause.method === "create") {
      this.#fatal = `create failed as in ${code}`;
    }
    return null;
  }

  hangs(method: string, code: string): void {
    if (!this.#hung.has(method)) {
      this.#hung.set(method, code);
    }
  }

  /** Returns why a rule that calls a hanging method did not run. */
  becauseOf(method: string): string {
    return `${method} did not return in ${this.#hung.get(method)}`;
  }
}

/** Timeout for the cleanup of a rule after Ctrl-C, in milliseconds. */
const CLEANUP_TIMEOUT_MS = 5_000;

export interface IsolatedCheckOptions {
  readonly driver: string;
  readonly options: CheckCommandOptions;
  readonly signal: AbortSignal;
  readonly onBegin: (code: string) => void;
  readonly onCall: (method: string) => void;
  readonly onResult: (result: CaseResult, printed: readonly string[]) => void;
  readonly onSwept: (found: readonly string[]) => void;
}

type DriverInfo = Extract<FromChild, { readonly is: "opened" }>;

type Outcome = Pick<CaseResult, "outcome" | "message">;

/**
 * Runs rules in child processes, which may hang, crash or be killed. Rules share a process until something goes wrong in it.
 */
export class IsolatedCheck {
  readonly #settings: IsolatedCheckOptions;
  readonly #files = new NodeFiles();
  readonly #folder = join(tmpdir(), `driver-check-${nodeRandom().uuid()}`);
  readonly #causes = new Causes();
  readonly #started = new Set<RuleProcess>();
  #process: RuleProcess | null = null;
  /** Starts while the previous process is being killed. */
  #preparedProcess: RuleProcess | null = null;
  #printed: readonly string[] = [];

  constructor(settings: IsolatedCheckOptions) {
    this.#settings = settings;
  }

  /** @throws {CommandError} the driver does not exist, or the arguments do not fit it */
  async run(
    rules: readonly ContractCase[],
  ): Promise<{ readonly driverInfo: DriverInfo; readonly results: readonly CaseResult[] }> {
    const { signal, onBegin, onResult } = this.#settings;
    const killAll = () => [...this.#started].forEach((each) => void each.killNow());
    process.on("exit", killAll);
    const stop = () => this.#stop();
    signal.addEventListener("abort", stop);
    const results: CaseResult[] = [];
    try {
      const driverInfo = await this.#open();
      for (const each of rules) {
        onBegin(each.code);
        const began = performance.now();
        this.#printed = [];
        const outcome = await this.#show(each, driverInfo.kills);
        if (signal.aborted) {
          break;
        }
        const { code, section, rule } = each;
        const milliseconds = Math.round(performance.now() - began);
        const result: CaseResult = { code, section, rule, ...outcome, milliseconds };
        results.push(result);
        onResult(result, this.#printed);
      }
      return { driverInfo, results };
    } finally {
      signal.removeEventListener("abort", stop);
      await Promise.all([...this.#started].map((each) => each.kill()));
      process.off("exit", killAll);
      await this.#files.remove(this.#folder);
    }
  }

  /** Waits for the first process, which reports whether the driver can be loaded. */
  async #open(): Promise<DriverInfo> {
    const ready = await this.#current().ready;
    if (ready.is === "ended") {
      const message = `${this.#settings.driver} cannot be loaded: ${sentence(ready, "its module")}`;
      throw new CommandError(ExitCode.usage, message);
    }
    if (ready.is === "refused") {
      throw new CommandError(ExitCode.usage, ready.message);
    }
    return ready;
  }

  async #show(each: ContractCase, kills: boolean): Promise<Outcome> {
    if (this.#causes.fatal !== null) {
      return { outcome: "unreached", message: this.#causes.fatal };
    }
    const folder = join(this.#folder, each.code);
    try {
      const reply = await this.#ask({ do: "rule", code: each.code, folder, hung: this.#causes.hung });
      const outcome = await this.#outcomeOf(each, folder, reply);
      if (outcome.outcome !== "passed" || each.killed === undefined || !kills || reply.is !== "done") {
        return outcome;
      }
      return (await this.#killedOutcome(each, folder, reply.attempt.adapterCalls)) ?? outcome;
    } finally {
      await this.#files.remove(folder);
    }
  }

  /** Kills the driver's process during its work, and inspects the result in the next process. @returns null on success */
  async #killedOutcome(each: ContractCase, folder: string, ioCalls: number): Promise<Outcome | null> {
    const moments: KillMoment[] =
      each.killed?.method === undefined || ioCalls === 0
        ? ["at its end"]
        : [...new Set([Math.ceil(ioCalls / 2), ioCalls])].map((call) => ({ call }));
    for (const moment of moments) {
      const task = { code: each.code, folder, hung: this.#causes.hung };
      const dying = this.#ask({ do: "begin", ...task, kill: moment });
      this.#preparedProcess ??= this.#start();
      const ended = await dying;
      if (ended.is !== "ended" || ended.begun === null || ended.by !== "exit" || ended.signal !== "SIGKILL") {
        const outcome = await this.#outcomeOf(each, folder, ended);
        return outcome.outcome === "passed" ? null : outcome;
      }
      this.#process = null;
      const killed = `when the process was killed (kill -9) ${wordsFor(each, moment)}`;
      const { subject, memory } = ended.begun;
      const outcome = await this.#outcomeOf(
        each,
        folder,
        await this.#ask({ do: "look", ...task, subject, memory, killed }),
      );
      if (outcome.outcome !== "passed" || this.#settings.signal.aborted) {
        return outcome;
      }
      // The work of this driver makes no I/O calls through the context: kill it once more, midway through the time that it
      // takes.
      const took = ended.at - ended.begun.at;
      if (moment === "at its end" && each.killed?.method !== undefined && moments.length === 1) {
        moments.push({ after: took / 2 });
      }
    }
    return null;
  }

  async #outcomeOf(each: ContractCase, folder: string, reply: RuleReply): Promise<Outcome> {
    if (reply.is === "ended") {
      return this.#afterEnd(each, folder, reply);
    }
    if (reply.is === "cleared" || reply.unreached !== null) {
      await this.#dismiss();
      const message = reply.is === "done" && reply.unreached !== null ? this.#causes.becauseOf(reply.unreached) : "";
      return { outcome: "unreached", message };
    }
    const { result, cause } = reply.attempt;
    const { outcome, message } = result;
    if (outcome === "failed") {
      await this.#dismiss();
      const known = cause === null ? null : this.#causes.recordFailure(cause, each.code);
      if (known !== null) {
        return { outcome: "unreached", message: known };
      }
    }
    return message === undefined ? { outcome: outcome } : { outcome: outcome, message };
  }

  /** Handles the end of a process during a rule: another process removes its guests. */
  async #afterEnd(each: ContractCase, folder: string, ended: Ended): Promise<Outcome> {
    await this.#dismiss();
    const cleared = await this.#ask({ do: "clear", folder, memory: ended.memory });
    if (cleared.is === "ended") {
      await this.#dismiss();
    } else if (cleared.is === "cleared" && cleared.found.length > 0) {
      this.#settings.onSwept(cleared.found);
    }
    const message = sentence(ended, "the check, or a hook of its description,");
    const known = this.#causes.recordFailure(
      { method: ended.method ?? "the check", text: `${ended.by} ${ended.how}` },
      each.code,
    );
    if (ended.by === "limit" && ended.method !== null) {
      this.#causes.hangs(ended.method, each.code);
    }
    return known === null ? { outcome: "failed", message } : { outcome: "unreached", message: known };
  }

  async #ask(order: Order): Promise<RuleReply> {
    const process = this.#current();
    const ready = await process.ready;
    const reply = ready.is === "ended" ? ready : await process.ask(order);
    this.#printed = [...this.#printed, ...process.printed];
    return reply;
  }

  #current(): RuleProcess {
    if (this.#process === null) {
      this.#process = this.#preparedProcess ?? this.#start();
      this.#preparedProcess = null;
    }
    return this.#process;
  }

  #start(): RuleProcess {
    const { driver, options, onCall } = this.#settings;
    const started = new RuleProcess({ driver, options, onCall });
    this.#started.add(started);
    return started;
  }

  /** Discards a process after a problem; the next rule gets a new one. */
  async #dismiss(): Promise<void> {
    await this.#process?.kill();
    this.#process = null;
  }

  #stop(): void {
    const stopped = this.#process;
    stopped?.stop();
    setTimeout(() => stopped?.killNow(), CLEANUP_TIMEOUT_MS).unref();
  }
}

function sentence({ by, how, method }: Ended, other: string): string {
  const who = method ?? other;
  switch (by) {
    case "limit":
      return `${who} must return, but ${how}; the process was killed`;
    case "fatal":
      return `${who} must leave no error uncaught, but the process was ended by ${how}`;
    case "exit":
      return `${who} must not end the process, but it ended (${how})`;
  }
}

function wordsFor({ killed }: ContractCase, moment: KillMoment): string {
  if (killed?.method === undefined) {
    return "after spawn";
  }
  if (moment === "at its end") {
    return `as ${killed.method} was done`;
  }
  return "call" in moment ? `in ${killed.method}, at I/O call ${moment.call}` : `in the middle of ${killed.method}`;
}

/** Replaces uuids, folders and numbers, which differ between rules with the same error. */
function withoutNames(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "UUID")
    .replace(/(driver-check-UUID|\/driver-check)\/[a-z-]+/g, "FOLDER")
    .replace(/check-host-\d/g, "HOST")
    .replace(/\d+/g, "N");
}
