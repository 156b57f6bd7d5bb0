import { CONTRACT_CASES } from "../../../testing/cases/index.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import { countOf, type DriverReport, summaryOf } from "../../../testing/attempt.js";
import { ExitCode } from "../../ui/exit-code.js";
import { withFormerNames } from "../../ui/former-names.js";
import { interruptSignal } from "../../ui/interrupt-signal.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import { lineOf, printedOf, RunningLine } from "./check-lines.js";
import { CheckRejectedError, IsolatedCheck } from "./isolated-check.js";
import type { CheckCommandOptions } from "./messages.js";

/** Prints a line for each rule as it is shown, then the sum. */
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
        terminal.complain(`compute-agent: swept what was left: ${found.join(", ")}`);
      },
    });
    const { driverInfo, results } = await check.run(rules);
    running.clear();
    if (interrupt.aborted) {
      terminal.complain("compute-agent: interrupted; the rules that are not listed were not tried");
      return ExitCode.failure;
    }
    const report: DriverReport = { driver: driverInfo.driver, apiVersion: driverInfo.apiVersion, results };
    if (quiet) {
      terminal.print(JSON.stringify(withFormerNames(report, { outcome: "verdict" }), null, 2));
    } else {
      printSum(report, driverInfo, terminal);
    }
    return countOf(report, "failed") === 0 ? ExitCode.ok : ExitCode.failure;
  } catch (error) {
    running.clear();
    if (!(error instanceof CheckRejectedError)) {
      throw error;
    }
    terminal.complain(`compute-agent: ${error.message}`);
    return ExitCode.usage;
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
  const conclusion = countOf(report, "failed") === 0 ? green("keeps the contract") : red("breaks the contract");
  terminal.print(`\n${report.driver} ${conclusion}: ${summaryOf(report)}`);
  if (!canary) {
    terminal.print(
      "Whether guests keep their data was not looked at: neither the driver's module nor --with has a check with a canary.",
    );
  }
  if (!kills) {
    terminal.print("No process was killed: what the test description sets up would have been killed with it.");
  }
}

/** One line for each cause: how many rules it kept from being shown. */
function unreachedLines({ results }: DriverReport): readonly string[] {
  const unreached = results.filter(({ outcome }) => outcome === "unreached").map(({ message = "" }) => message);
  return [...new Set(unreached)].map((cause) => {
    const count = unreached.filter((each) => each === cause).length;
    return `-       ${count === 1 ? "1 rule was" : `${count} rules were`} not reached: ${cause}`;
  });
}

/** @throws {CheckRejectedError} naming the rules that there are. */
function chosen(only: readonly string[] | undefined): readonly ContractCase[] {
  if (only === undefined) {
    return CONTRACT_CASES;
  }
  const codes = CONTRACT_CASES.map(({ code }) => code);
  const unknown = only.filter((code) => !codes.includes(code));
  if (unknown.length > 0) {
    throw new CheckRejectedError(`there is no rule ${unknown.join(", ")}; there are ${codes.join(", ")}`);
  }
  return CONTRACT_CASES.filter(({ code }) => only.includes(code));
}
