import type { Command } from "commander";
import { type AgentCommandOptions, agentCommand } from "./agent/options.js";
import { endProcess, runProgram } from "./ui/run-program.js";

async function run(options: AgentCommandOptions): Promise<number> {
  if (options.showConfig === true) {
    return (await import("./agent/show-config.js")).printConfig(options);
  }
  if (options.check === true) {
    return (await import("./agent/check/print-check.js")).printCheck(options);
  }
  if (options.dryRun === true) {
    return (await import("./agent/dry-run.js")).printDryRun(options);
  }
  if (options.watch === true) {
    return (await import("./agent/watch.js")).serveAndWatch(options, process.argv.slice(2));
  }
  return (await import("./agent/serve.js")).serve(options);
}

/** Modules for driver authors are loaded only for their commands. */
async function parse(): Promise<void> {
  const [, , first, , line = ""] = process.argv;
  if (first === "up") {
    // The package has the name of this program, so newcomers try `npx compute-agent up`.
    await import("./compute-cluster.js");
    return;
  }
  if (first === "completion" || first === "complete") {
    const { completionCommand, printCompletion } = await import("./completion/completion-command.js");
    if (first === "complete") {
      await printCompletion(line, createFullProgram);
    } else {
      await completionCommand("compute-agent").exitOverride().parseAsync(process.argv.slice(3), { from: "user" });
    }
    return;
  }
  if (process.argv[2] === "driver") {
    const { driverCommand } = await import("./driver/command.js");
    await driverCommand().parseAsync(process.argv.slice(3), { from: "user" });
    return;
  }
  await agentCommand(async (options) => {
    endProcess(await run(options), "compute-agent");
  }).parseAsync();
}

/** Returns the program with all commands, including those that parse() delegates. */
async function createFullProgram(): Promise<Command> {
  const { completionCommand } = await import("./completion/completion-command.js");
  const { driverCommand } = await import("./driver/command.js");
  return agentCommand(async () => undefined)
    .addCommand(driverCommand().name("driver"))
    .addCommand(completionCommand("compute-agent"));
}

void runProgram("compute-agent", parse);
