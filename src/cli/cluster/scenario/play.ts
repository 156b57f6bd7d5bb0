import { type CloudSession, openCloudSession } from "../../../control-plane/local/cloud-session.js";
import { type StateDir, stateDir } from "../../../control-plane/local/state-dir.js";
import type { HttpMethod } from "../../../runtime/http.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { quietLogger } from "../../ui/logging.js";
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

/** A step did not have the result that the scenario expects. */
class StepFailed extends Error {
  override readonly name = "StepFailed";
}

/** Milliseconds between two attempts. */
const PAUSE = 500;

/**
 * Runs the steps in the running cluster, one after the other.
 * @param onStep called before each step.
 * @throws {StepFailed}
 */
async function playScenario(
  { steps }: Pick<Scenario, "steps">,
  { directory, signal }: { readonly directory: StateDir; readonly signal: AbortSignal },
  onStep: (say: string) => void,
): Promise<void> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  try {
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
        throw new StepFailed(`step ${at + 1} (${step.say}): ${reason}`);
      }
    }
  } finally {
    await runtime.http.close();
  }
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
    return expect !== undefined && status === expect
      ? undefined
      : String(error instanceof Error ? error.message : error);
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
  try {
    await playScenario(scenario, { directory: stateDir(stateDirOption, deps.cwd), signal }, onStep);
  } catch (error) {
    if (!(error instanceof StepFailed)) {
      throw error;
    }
    return { text: `scenario ${scenario.name} failed: ${error.message}`, failed: true };
  }
  return { text: `${scenario.about.trim()}\n\n${courseText(scenario, stateDirOption)}`, failed: false };
}
