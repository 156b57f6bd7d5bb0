import { type CloudSession, openCloudSession } from "../../../control-plane/local/cloud-session.js";
import { type StateDir, stateDir } from "../../../control-plane/local/state-dir.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import type { HttpMethod } from "../../../runtime/http.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { withRuntime } from "../cluster-command.js";
import { runOurs } from "../own-programs.js";
import { courseText, readScenario, type Scenario } from "./read-scenario.js";
import {
  resolveReferences,
  resolveText,
  type ScenarioStep,
  SERVICES,
  type ServiceName,
  wordsOf,
} from "./scenario-file.js";

/** Milliseconds between two attempts. */
const PAUSE = 500;

/**
 * Runs the steps in the running cluster, one after the other.
 * @param onStep called before each step.
 * @returns why a step failed; undefined on success
 */
async function playScenario(
  { steps }: Pick<Scenario, "steps">,
  { directory, signal }: { readonly directory: StateDir; readonly signal: AbortSignal },
  onStep: (say: string) => void,
): Promise<string | undefined> {
  return withRuntime(async (runtime) => {
    const cloud = await openCloudSession(runtime.files, runtime.http, directory);
    for (const [at, step] of steps.entries()) {
      signal.throwIfAborted();
      onStep(step.say);
      const attempt = () => (step.run === undefined ? ask(step, cloud) : run(step, step.run, { directory, signal }));
      const until = runtime.clock.monotonic() + (step.within ?? 0) * 1_000;
      let reason = await attempt();
      while (reason !== undefined && runtime.clock.monotonic() < until) {
        await runtime.timers.sleep(PAUSE, signal);
        reason = await attempt();
      }
      if (reason !== undefined) {
        return `step ${at + 1} (${step.say}): ${reason}`;
      }
    }
    return undefined;
  });
}

/** Sends the request of a step. Returns why it failed; undefined on success. */
async function ask(
  { ask: request = "", body, version, expect }: ScenarioStep,
  cloud: CloudSession,
): Promise<string | undefined> {
  const [, method, service, path = ""] = /^(\w+) (\w+) (.*)$/.exec(request) ?? [];
  const name = service as ServiceName;
  try {
    const target = await resolveText(path, cloud);
    const resolvedBody = body === undefined ? undefined : await resolveReferences(body, cloud);
    await cloud.request(name, method as HttpMethod, target, version ?? SERVICES[name], resolvedBody);
    return expect === undefined || expect < 300 ? undefined : `${request} succeeded, expected ${expect}`;
  } catch (error) {
    const status = error instanceof Error && "status" in error ? error.status : undefined;
    return expect !== undefined && status === expect ? undefined : errorMessage(error);
  }
}

async function run(
  { expect = 0 }: ScenarioStep,
  command: string,
  { directory, signal }: { readonly directory: StateDir; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const [, ...args] = wordsOf(command.replaceAll("{state_dir}", directory.root)) ?? [];
  const reason = await runOurs([...args, "--state-dir", directory.root], signal, expect);
  return reason === undefined ? undefined : `${command} ${reason}`;
}

/**
 * Plays a scenario in a running cluster.
 * @param name or path
 * @param stateDirOption the cluster's state directory
 * @returns the instructions, or why a step failed.
 * @throws {CommandError}
 */
export async function playNamed(
  name: string,
  stateDirOption: string,
  { onStep, signal }: { readonly onStep: (say: string) => void; readonly signal: AbortSignal },
): Promise<{ readonly text: string; readonly failed: boolean }> {
  const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() };
  const scenario = await readScenario(name, deps);
  const place = { directory: stateDir(stateDirOption, deps.cwd), signal };
  const reason = await playScenario(scenario, place, onStep);
  if (reason !== undefined) {
    return { text: `scenario ${scenario.name} failed: ${reason}`, failed: true };
  }
  return { text: `${scenario.about.trim()}\n\n${courseText(scenario, stateDirOption)}`, failed: false };
}
