import { NodeFiles } from "../../runtime/node/node-files.js";
import { loadHosts } from "../agent/load-config.js";
import { agentCommand } from "../agent/options.js";
import { DriverGuard } from "../containment/driver-guard.js";

/**
 * Reads what agents with these arguments would read: what is wrong with their options, files or driver is known before
 * anything is started.
 * @param each the arguments of each agent
 * @returns what the agents would only warn of, once. @throws as {@link loadHosts}
 */
export async function checkAgents(each: readonly (readonly string[])[]): Promise<readonly string[]> {
  const warnings = new Set<string>();
  const guard = new DriverGuard("compute-cluster");
  const command = agentCommand(async (options) => {
    const { compiled } = (await loadHosts(options, new NodeFiles(), guard)).first;
    for (const { message } of compiled.warnings) {
      warnings.add(message);
    }
  });
  const different = new Map(each.map((args) => [JSON.stringify(args), args]));
  for (const args of different.values()) {
    await command.parseAsync([...args], { from: "user" });
  }
  return [...warnings];
}
