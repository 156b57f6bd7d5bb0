import { NodeFiles } from "../../runtime/node/node-files.js";
import { loadConfig } from "../agent/load-config.js";
import { agentCommand } from "../agent/options.js";

/**
 * Reads what agents with these arguments would read: what is wrong with their options, files or driver is known before
 * anything is started.
 * @returns what the agents would only warn of. @throws as {@link loadConfig}
 */
export async function checkAgents(args: readonly string[]): Promise<readonly string[]> {
  const warnings: string[] = [];
  const command = agentCommand(async (options) => {
    const { compiled } = await loadConfig(options, new NodeFiles());
    warnings.push(...compiled.warnings.map(({ message }) => message));
  });
  await command.parseAsync(args, { from: "user" });
  return warnings;
}
