import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { readClusterInfo, type StateDir, stateDir } from "../../../control-plane/local/state-dir.js";
import { errorMessage } from "../../../runtime/error-messages.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import { withRuntime } from "../cluster-command.js";
import { readClusterFile } from "../file/read-cluster-file.js";
import { withOperatorSession } from "../operator-session.js";
import { runOurs } from "../own-programs.js";
import { clusterName, formerNameOption, requireCluster, rootOf } from "../place.js";
import type { UpOptions } from "../up-children.js";
import { heldDifferences, readAllocations } from "./held-allocations.js";
import { playRecording, type Replayed } from "./play-recording.js";
import { type Recording, readRecording } from "./recording.js";
import { IdMap, openReplaySession } from "./replay-session.js";

interface ReplayOptions {
  readonly speed: number;
  readonly name?: string;
  readonly into?: string;
  readonly json?: true;
}

export function replayCommand(): Command {
  return new Command("replay")
    .argument("<file>", "file of `compute-agent record`")
    .summary("Replay a recording and report differences")
    .description(
      "Starts a new cluster like the recorded one, and repeats requests, host commands and faults at their recorded " +
        "times. Compares each status and the final allocations in Placement. Requests have the same users and roles; ids are " +
        "translated, and omitted passwords are generated.",
    )
    .option("--speed <n>", "speed factor", speed, 1)
    .option("--name <name>", "name of a running cluster to use instead of a new one", clusterName)
    .addOption(formerNameOption())
    .option("--json", "print the differences as JSON")
    .addHelpText(
      "after",
      exitCodeHelp({ 0: "no differences", 1: "differences", 2: "wrong arguments or file", 4: "no control plane" }),
    )
    .action(async (file: string, options: ReplayOptions) => {
      const terminal = createTerminal();
      process.exitCode = await withRuntime(async (runtime) => {
        const recording = await readRecording(file, runtime.files);
        const running = options.name ?? options.into;
        const name = running ?? `replay-${runtime.random.hex(4)}`;
        await (running === undefined ? startLike(recording, name, file) : requireCluster(name));
        return replay(recording, name, options, { runtime, terminal });
      });
    });
}

function speed(text: string): number {
  const value = Number(text);
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text) || value <= 0) {
    throw new InvalidArgumentError("expected a number greater than 0, as 1, 10 or 0.5.");
  }
  return value;
}

/**
 * Starts a cluster of this name with the recorded cluster file.
 * @param recorded path of the recording
 * @throws {CommandError} its cluster file is invalid
 */
async function startLike({ start }: Recording, name: string, recorded: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "compute-cluster-replay-"));
  try {
    const file = join(folder, "cluster.yaml");
    await writeFile(file, start.cluster, { mode: 0o600 });
    await validateClusterFile(file, recorded);
    const reason = await runOurs(["up", "--file", file, "--name", name, "--port", "0", "--detach"]);
    if (reason !== undefined) {
      throw new Error(`a cluster like the recorded one did not start: ${reason}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function validateClusterFile(file: string, recorded: string): Promise<void> {
  const options: UpOptions = { hosts: 0, stateDir: dirname(file), port: 0, configFile: [] };
  const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: dirname(file) };
  try {
    await readClusterFile(file, { options, providedOptions: new Set() }, deps);
  } catch (error) {
    const reason = errorMessage(error);
    throw new CommandError(
      ExitCode.usage,
      `${recorded}:1: its cluster file is invalid: ${reason.replaceAll(file, "cluster")}`,
      { cause: error },
    );
  }
}

/** @returns the exit code */
async function replay(
  recording: Recording,
  name: string,
  { speed: times, json }: ReplayOptions,
  { runtime, terminal }: { readonly runtime: Runtime; readonly terminal: Terminal },
): Promise<number> {
  const signal = interruptSignal();
  const directory: StateDir = stateDir(rootOf(name), "/");
  const run = (words: readonly string[]) => runOurs([...words, "--state-dir", directory.root], signal);
  try {
    return await withOperatorSession("replay", { runtime, directory }, async (session) => {
      const url = (await readClusterInfo(runtime.files, directory))?.url ?? "";
      const ids = new IdMap();
      const made: string[] = [];
      const asking = openReplaySession(session, { http: runtime.http, url, ids, made: (text) => made.push(text) });
      const place = { session: asking, run, ids, runtime, signal };
      const { differences, left } = await playRecording(recording, times, place);
      await run(["wait", "--for", "settled"]);
      const held = await readAllocations(session, runtime.http, url);
      const { end } = recording;
      const allocations = end === undefined ? null : heldDifferences(end.held, held, (id) => ids.of(id));
      const found: Outcome = { cluster: name, differences, allocations, made, left };
      terminal.print(json === true ? JSON.stringify(found, null, 2) : outcomeText(found, recording));
      return isSame(found) ? ExitCode.ok : ExitCode.failure;
    });
  } catch (error) {
    if (!signal.aborted) {
      throw error;
    }
    terminal.complain(`compute-agent: interrupted; cluster ${name} keeps running, with what was replayed so far`);
    return ExitCode.failure;
  }
}

interface Outcome extends Replayed {
  readonly cluster: string;
  /** Null if the recording has no final allocations. */
  readonly allocations: readonly string[] | null;
  /** Entities of the recorded cluster that the replay created for the callers. */
  readonly made: readonly string[];
}

function isSame({ differences, allocations }: Outcome): boolean {
  return differences.length === 0 && (allocations ?? []).length === 0;
}

function outcomeText(outcome: Outcome, { events }: Recording): string {
  const { cluster, differences, allocations, made, left } = outcome;
  const broken = "; the recording was interrupted, so its final allocations are unknown";
  const count = events.filter((event) => !("place" in event)).length;
  return [
    ...differences.map(
      ({ at, what, expected, found }) => `${(at / 1000).toFixed(1)} s ${what}: expected ${expected}, found ${found}`,
    ),
    ...(allocations ?? []).map((text) => `allocations of ${text}`),
    ...made.map((text) => `created, because it existed before the recording: ${text}`),
    ...left.map((text) => `skipped: ${text}`),
    `${count} events in cluster ${cluster}: ` +
      `${isSame(outcome) ? "no differences" : "with the differences above"}${allocations === null ? broken : ""}`,
  ].join("\n");
}
