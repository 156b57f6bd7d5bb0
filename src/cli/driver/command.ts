import { Command, InvalidArgumentError } from "commander";
import { pair } from "../ui/command-line.js";
import { endProcess } from "../ui/run-program.js";
import type { CheckCommandOptions } from "./rule-process.js";

/** Creates `compute-agent driver …`, the commands for authors of virt drivers. */
export function driverCommand(): Command {
  const command = new Command("compute-agent driver")
    .summary("write, check and configure a virt driver")
    .description("Commands for authors of virt drivers. docs/tutorials/first-driver.md is the tutorial.")
    .showHelpAfterError()
    .exitOverride();
  const add = (name: string) => command.command(name).copyInheritedSettings(command);
  add("new <name>")
    .description("Writes a package with a driver that works, its tests and a sample configuration into a new folder.")
    .option("--in <folder>", "where the new folder is made", ".")
    .action(async (name: string, options: { readonly in: string }) => {
      process.exitCode = await (await import("./new.js")).newDriver(name, options.in);
    });
  add("sample <driver>")
    .description(
      "Prints a sample of nova.conf with all options that a driver declares: a built-in name, an npm package, or a path.",
    )
    .option("--out <file>", "write it to this file instead")
    .action(async (driver: string, { out }: { readonly out?: string }) => {
      endProcess(await (await import("./sample.js")).writeSample(driver, out), "compute-agent");
    });
  add("check <driver>")
    .description("Holds a driver against the contract, rule by rule: a built-in name, an npm package, or a path.")
    .option(
      "-o, --option <name=value>",
      "one of the driver's own options; {host} and {folder} are replaced; repeatable",
      pair("name=value"),
    )
    .option("--virtual-time", "simulated clock and files: for drivers that use the context's doors only")
    .option("--waive <rule=reason>", "what the driver knowingly does otherwise; repeatable", pair("rule=reason"))
    .option(
      "--with <module>",
      "a module whose export check has what describeDriver takes: canary, sweep, config, flavor, reshape, setUp ...; default: that of the driver's own module",
    )
    .option("--only <rule>", "only this rule, by its code; several by commas; repeatable", rules)
    .option("--limit <seconds>", "how long a call of the driver may take before its process is killed", seconds, 30)
    .option("--verbose", "show what the driver logs and prints, as it does")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nRules are shown in processes of their own, which are killed (kill -9) where the\nrule is about that." +
        "\nExit codes: 0 each rule is kept, skipped or waived; 1 some are broken;\n            2 wrong arguments or options, or no such driver.",
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
