#!/usr/bin/env node
import { type AgentCommandOptions, agentCommand } from "./agent/options.js";
import { reportFailure } from "./ui/report-failure.js";

const run = async (options: AgentCommandOptions): Promise<number> => {
  if (options.showConfig === true) return (await import("./agent/show-config.js")).printConfig(options);
  if (options.dryRun === true) return (await import("./agent/dry-run.js")).printDryRun(options);
  return (await import("./agent/serve.js")).serve(options);
};

await agentCommand(async (options) => {
  process.exitCode = await run(options);
})
  .parseAsync()
  .catch(reportFailure("compute-agent"));
