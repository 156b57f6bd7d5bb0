import { type CaseOutcome, type CaseResult, countOf, type DriverReport, summaryOf } from "../../../testing/attempt.js";
import { CONTRACT_CASES } from "../../../testing/cases/index.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import { wrapWords } from "../../ui/table.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import type { CheckCommandOptions } from "../rule-process.js";
import { IsolatedCheck } from "./isolated-check.js";

const WORDS: Readonly<Record<CaseOutcome, string>> = {
  passed: "ok",
  failed: "FAILED",
  skipped: "skipped",
  waived: "waived",
  unreached: "not reached",
};

const MARGIN = " ".repeat(8);

/** The running rule, on the last line of a terminal; removed when its result is printed. */
class RunningLine {
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

/** Checks a driver, and prints a line for each rule, then a summary. */
export async function checkCommand(driver: string, options: CheckCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const interrupt = interruptSignal();
  const quiet = options.json === true;
  const running = new RunningLine(terminal, !quiet && terminal.interactive && options.verbose !== true);
  try {
    const rules = chosen(options.only);
    const check = new IsolatedCheck({
      driver,
      options,
      signal: interrupt,
      onBegin: (code) => {
        running.show(code);
        if (options.verbose === true) {
          terminal.complain(`--- ${code}`);
        }
      },
      onCall: (method) => running.call(method),
      onResult: (result, printed) => {
        running.clear();
        if (!quiet && result.outcome !== "unreached") {
          terminal.print(lineOf(result, terminal));
          if (result.outcome === "failed" && options.verbose !== true && printed.length > 0) {
            terminal.print(printedOf(printed, terminal));
          }
        }
      },
      onSwept: (found) => {
        running.clear();
        terminal.complain(`compute-agent: swept leftovers: ${found.join(", ")}`);
      },
    });
    const { driverInfo, results } = await check.run(rules);
    running.clear();
    if (interrupt.aborted) {
      terminal.complain("compute-agent: interrupted; the rules that are not listed did not run");
      return ExitCode.failure;
    }
    const report: DriverReport = { driver: driverInfo.driver, apiVersion: driverInfo.apiVersion, results };
    if (quiet) {
      terminal.print(JSON.stringify(withFormerNames(report, { outcome: "verdict" }), null, 2));
    } else {
      printSum(report, driverInfo, terminal);
    }
    return countOf(report, "failed") === 0 ? ExitCode.ok : ExitCode.failure;
  } finally {
    running.clear();
  }
}

function printSum(
  report: DriverReport,
  { canary, kills }: { readonly canary: boolean; readonly kills: boolean },
  terminal: Terminal,
): void {
  const { green, red } = terminal.colors;
  for (const line of unreachedLines(report)) {
    terminal.print(line);
  }
  const conclusion = countOf(report, "failed") === 0 ? green("fulfils the contract") : red("breaks the contract");
  terminal.print(`\n${report.driver} ${conclusion}: ${summaryOf(report)}`);
  if (!canary) {
    terminal.print(
      "Not checked whether guests keep their data: neither the driver's module nor --with has a check with a canary.",
    );
  }
  if (!kills) {
    terminal.print("No process was killed, because the resources of setUp would have been killed with it.");
  }
}

/** Returns one line for each cause, with the number of rules that it blocked. */
function unreachedLines({ results }: DriverReport): readonly string[] {
  const unreached = results.filter(({ outcome }) => outcome === "unreached").map(({ message = "" }) => message);
  return [...new Set(unreached)].map((cause) => {
    const count = unreached.filter((each) => each === cause).length;
    return `-       ${count === 1 ? "1 rule was" : `${count} rules were`} not reached: ${cause}`;
  });
}

/** @throws {CommandError} Unknown rules; the message lists the existing ones. */
function chosen(only: readonly string[] | undefined): readonly ContractCase[] {
  if (only === undefined) {
    return CONTRACT_CASES;
  }
  const codes = CONTRACT_CASES.map(({ code }) => code);
  const unknown = only.filter((code) => !codes.includes(code));
  if (unknown.length > 0) {
    throw new CommandError(ExitCode.usage, `there is no rule ${unknown.join(", ")}; there are ${codes.join(", ")}`);
  }
  return CONTRACT_CASES.filter(({ code }) => only.includes(code));
}

/** Formats the result of one rule. */
function lineOf(result: CaseResult, { colors, columns }: Terminal): string {
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

/** Formats the driver's output during a failed rule. */
function printedOf(printed: readonly string[], { colors }: Terminal): string {
  return printed.map((line) => `${MARGIN}${colors.dim(`| ${line}`)}`).join("\n");
}

/** Formats a text beside its label, wrapped at words. */
function indented(label: string, text: string, columns: number): string {
  const room = Math.max(20, columns - MARGIN.length - label.length);
  return wrapWords(text, room)
    .split("\n")
    .map((line, index) => `${MARGIN}${index === 0 ? label : " ".repeat(label.length)}${line}`)
    .join("\n");
}
