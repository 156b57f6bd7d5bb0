import { type AgentCommandOptions, agentCommand } from "./agent/options.js";
import { endProcess } from "./ui/end-process.js";
import { runProgram } from "./ui/run-program.js";

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

/** What authors of drivers need is loaded only for them. */
async function parse(): Promise<void> {
  if (process.argv[2] === "driver") {
    const { driverCommand } = await import("./driver/command.js");
    await driverCommand().parseAsync(process.argv.slice(3), { from: "user" });
    return;
  }
  await agentCommand(async (options) => {
    endProcess(await run(options), "compute-agent");
  }).parseAsync();
}

void runProgram("compute-agent", parse);
