import { checkDriver, refuseUnknownWaivers, UnknownWaiver } from "../../testing/check-driver.js";
import type { CheckPlace, DriverCheckOptions } from "../../testing/options.js";
import { type CaseResult, countOf, summaryOf, type Verdict } from "../../testing/report.js";
import { compileDriverConfig, type DriverDefinition, InvalidConfiguration } from "../../virt/index.js";
import { loadDriver } from "../../virt/load-driver.js";
import { BUILT_IN_DRIVERS } from "../agent/built-in-drivers.js";
import { ExitCode } from "../ui/exit-code.js";
import { interruptSignal } from "../ui/interrupt-signal.js";
import { wrapWords } from "../ui/table.js";
import { createTerminal, type Terminal } from "../ui/terminal.js";
import type { Pair } from "./pair.js";

export interface CheckCommandOptions {
  readonly option?: readonly Pair[];
  readonly virtualTime?: true;
  readonly waive?: readonly Pair[];
  readonly json?: true;
}

/** Prints a line for each rule as it is checked, then the sum. */
export async function checkCommand(name: string, given: CheckCommandOptions): Promise<number> {
  const terminal = createTerminal();
  const driver = await loadDriver(name, { builtIns: BUILT_IN_DRIVERS, cwd: process.cwd() });
  const config = ({ host, folder }: CheckPlace): Readonly<Record<string, string>> =>
    Object.fromEntries(
      (given.option ?? []).map(([option, value]) => [
        option,
        value.replaceAll("{host}", host).replaceAll("{folder}", folder),
      ]),
    );
  const options: DriverCheckOptions = {
    time: given.virtualTime === true ? "virtual" : "real",
    waive: Object.fromEntries(given.waive ?? []),
    config,
  };
  try {
    refuseUnknownWaivers(options);
    refuseWrongOptions(driver, config({ host: "check-host-1", folder: "/driver-check" }));
  } catch (error) {
    if (!(error instanceof UnknownWaiver || error instanceof InvalidConfiguration)) {
      throw error;
    }
    terminal.complain(`compute-agent: ${error.message}`);
    return ExitCode.usage;
  }
  const show = given.json === true ? undefined : (result: CaseResult) => terminal.print(lineOf(result, terminal));
  const interrupt = interruptSignal();
  const report = await checkDriver(driver, options, show, interrupt);
  if (interrupt.aborted) {
    terminal.complain("compute-agent: interrupted; the rules that are not listed were not tried");
    return ExitCode.failure;
  }
  const broken = countOf(report, "failed");
  if (given.json === true) {
    terminal.print(JSON.stringify(report, null, 2));
  } else {
    const { green, red } = terminal.colors;
    const verdict = broken === 0 ? green("keeps the contract") : red("breaks the contract");
    terminal.print(`\n${driver.name} ${verdict}: ${summaryOf(report)}`);
  }
  return broken === 0 ? ExitCode.ok : ExitCode.failure;
}

/** @throws {InvalidConfiguration} before any rule is tried, instead of in each. */
function refuseWrongOptions({ name, configSchema }: DriverDefinition, given: Readonly<Record<string, string>>): void {
  const known = Object.keys(configSchema?.options ?? {});
  const unknown = Object.keys(given).find((option) => !known.includes(option));
  if (unknown !== undefined) {
    const there = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    throw new InvalidConfiguration(`driver ${name} has no option ${unknown}; ${there}`);
  }
  if (configSchema) {
    compileDriverConfig(configSchema, given);
  }
}

const WORDS: Readonly<Record<Verdict, string>> = {
  passed: "ok",
  failed: "FAILED",
  skipped: "skipped",
  waived: "waived",
};

function lineOf({ code, section, rule, verdict, message = "" }: CaseResult, { colors, columns }: Terminal): string {
  const paint = { passed: colors.green, failed: colors.red, skipped: colors.dim, waived: colors.yellow }[verdict];
  const line = `${paint(WORDS[verdict].padEnd(7))} ${section.padEnd(4)} ${code}`;
  if (verdict === "passed") {
    return line;
  }
  if (verdict === "failed") {
    return `${line}\n${indented("rule:  ", rule, columns)}\n${indented("found: ", message, columns)}`;
  }
  const plain = WORDS[verdict].padEnd(7).length + 1 + section.padEnd(4).length + 1 + code.length + 2 + message.length;
  return plain <= columns ? `${line}: ${message}` : `${line}:\n${indented("", message, columns)}`;
}

const MARGIN = " ".repeat(8);

/** The text beside its label, wrapped at words. */
function indented(label: string, text: string, columns: number): string {
  const room = Math.max(20, columns - MARGIN.length - label.length);
  return wrapWords(text, room)
    .split("\n")
    .map((line, index) => `${MARGIN}${index === 0 ? label : " ".repeat(label.length)}${line}`)
    .join("\n");
}
