import { Command, InvalidArgumentError } from "commander";
import { pair } from "../ui/command-line.js";
import { endProcess } from "../ui/run-program.js";
import type { CheckCommandOptions } from "./rule-process.js";

/** Creates `compute-agent driver …`, the commands for authors of virt drivers. */
export function driverCommand(): Command {
  const command = new Command("driver")
    .summary("Write, check and configure a virt driver")
    .description(
      "Commands for authors of virt drivers. docs/tutorials/first-driver.md is the tutorial, and " +
        "docs/how-to/check-a-driver.md describes the check.",
    )
    .showHelpAfterError()
    .exitOverride();
  const add = (name: string) => command.command(name).copyInheritedSettings(command);
  add("new <name>")
    .summary("Create a package with a working driver")
    .description("Creates a package in a new folder, with a working driver, its tests and a sample configuration.")
    .option("--in <folder>", "parent of the new folder", ".")
    .action(async (name: string, options: { readonly in: string }) => {
      process.exitCode = await (await import("./new.js")).newDriver(name, options.in);
    });
  add("sample <driver>")
    .summary("Print a sample configuration of a driver")
    .description(
      "Prints a sample of nova.conf with all options of a driver, which is a built-in name, an npm package or a path.",
    )
    .option("--out <file>", "write the sample to this file instead")
    .action(async (driver: string, { out }: { readonly out?: string }) => {
      endProcess(await (await import("./sample.js")).writeSample(driver, out), "compute-agent");
    });
  add("check <driver>")
    .summary("Check a driver against the contract")
    .description(
      "Checks a driver against the rules of the contract. The driver is a built-in name, an npm package or a path.",
    )
    .option(
      "-o, --option <name=value>",
      "an option of the driver; {host} and {folder} stand for the host's name and the rule's folder; repeatable",
      pair("name=value"),
    )
    .option("--virtual-time", "simulate clock, files and network, for drivers that do all I/O through the context")
    .option(
      "--waive <rule=reason>",
      "accept a known deviation from a rule, with the reason; repeatable",
      pair("rule=reason"),
    )
    .option(
      "--with <module>",
      "a module whose export check has the options of describeDriver: canary, sweep, config, flavor, reshape, setUp ...; default: the driver's own module",
    )
    .option("--only <rule>", "run only the rules with these codes, separated by commas; repeatable", rules)
    .option(
      "--limit <seconds>",
      "limit for each call of the driver; when it is exceeded, the process is killed",
      seconds,
      30,
    )
    .option("--verbose", "print the log and the output of the driver as they appear")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nRules run in child processes. Rules about killed agents end theirs with kill -9." +
        "\nExit codes: 0 no rule failed; 1 a rule failed, or the check was interrupted;\n            2 wrong arguments or options, or an unknown driver.",
    )
    .action(async (driver: string, options: CheckCommandOptions) => {
      endProcess(await (await import("./check/check-command.js")).checkCommand(driver, options), "compute-agent");
    });
  command.command("check-rules", { hidden: true }).action(async () => {
    process.exit(await (await import("./check/rule-child.js")).checkRules());
  });
  return command;
}

function rules(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",").map((code) => code.trim())];
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value > 0)) {
    throw new InvalidArgumentError("expected a number of seconds greater than 0.");
  }
  return value;
}
