import { Command } from "commander";
import { endProcess } from "../ui/end-process.js";
import type { CheckCommandOptions } from "./check.js";
import { pair } from "./pair.js";

/** `compute-agent driver …`: for authors of virt drivers. */
export function driverCommand(): Command {
  const command = new Command("compute-agent driver")
    .description("For authors of virt drivers; docs/first-driver.md tells how to begin.")
    .showHelpAfterError()
    .exitOverride();
  const add = (name: string) => command.command(name).copyInheritedSettings(command);
  add("new <name>")
    .description("Writes a package with a driver that works, its tests and a sample configuration into a new folder.")
    .option("--in <folder>", "where the new folder is made", ".")
    .action(async (name: string, options: { readonly in: string }) => {
      process.exitCode = await (await import("./new.js")).newDriver(name, options.in);
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
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExit codes: 0 each rule is kept, skipped or waived; 1 some are broken;\n            2 wrong arguments or options, or no such driver.",
    )
    .action(async (driver: string, options: CheckCommandOptions) => {
      endProcess(await (await import("./check.js")).checkCommand(driver, options), "compute-agent");
    });
  return command;
}
