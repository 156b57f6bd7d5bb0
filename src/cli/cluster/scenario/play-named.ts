import { stateDir } from "../../../control-plane/local/state-dir.js";
import { nodeDigests } from "../../../runtime/node/node-digests.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { playScenario, StepFailed } from "./play.js";
import { readScenario } from "./read-scenario.js";
import { courseText } from "./scenario-text.js";

/**
 * Plays a scenario in a running cluster.
 * @param name or path @param stateDirOption the cluster's state directory
 * @returns what to do with it, or why it did not come about. @throws {FileInvalid}
 */
export async function playNamed(
  name: string,
  stateDirOption: string,
  { onStep, signal }: { readonly onStep: (say: string) => void; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly failed: boolean }> {
  const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() };
  const scenario = await readScenario(name, deps);
  try {
    await playScenario(scenario, { directory: stateDir(stateDirOption, deps.cwd), signal }, onStep);
  } catch (error) {
    if (!(error instanceof StepFailed)) {
      throw error;
    }
    return { text: `scenario ${scenario.name} did not come about: ${error.message}`, failed: true };
  }
  return { text: `${scenario.about.trim()}\n\n${courseText(scenario, stateDirOption)}`, failed: false };
}
