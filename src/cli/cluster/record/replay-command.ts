import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { openCloudSession } from "../../../cluster/local/cloud-session.js";
import { type StateDir, stateDir } from "../../../cluster/local/state-dir.js";
import { nodeRandom } from "../../../runtime/node/node-random.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { ExitCode } from "../../ui/exit-code.js";
import { interruptSignal } from "../../ui/interrupt-signal.js";
import { quietLogger } from "../../ui/quiet-logger.js";
import { createTerminal, type Terminal } from "../../ui/terminal.js";
import { clusterName, rootOf } from "../place.js";
import { runOurs } from "../run-ours.js";
import { heldDifferences, heldNow } from "./held.js";
import { playRecording } from "./play-recording.js";
import { type Recording, readRecording } from "./recording.js";
import { openReplaySession } from "./replay-session.js";

interface ReplayOptions {
  readonly speed: number;
  readonly into?: string;
  readonly json?: true;
}

export function replayCommand(): Command {
  return new Command("replay")
    .argument("<file>", "what compute-cluster record wrote")
    .summary("do what was recorded again, and say where it went otherwise")
    .description(
      "Starts a new cluster as the recorded one was, asks what was asked, does to hosts and faults what was done, in the same times, " +
        "and compares every status, and in the end what is held in Placement. Ids of the recorded cluster become those of the new one. " +
        "Everything is asked as the administrator, in the project that it was asked in.",
    )
    .option("--speed <n>", "so many times as fast", speed, 1)
    .option("--into <cluster>", "a running cluster of this name instead of a new one", clusterName)
    .option("--json", "the differences as JSON")
    .addHelpText(
      "after",
      "\nExit codes: 0 it went the same way; 1 it did not; 2 wrong arguments or file; 4 no control plane.",
    )
    .action(async (file: string, options: ReplayOptions) => {
      const terminal = createTerminal();
      const recording = await readRecording(file, createNodeRuntime({ logger: quietLogger }).files);
      const name = options.into ?? `replay-${nodeRandom().hex(4)}`;
      if (options.into === undefined) {
        await startLike(recording, name);
      }
      process.exitCode = await replay(recording, name, options, terminal);
    });
}

function speed(text: string): number {
  const value = Number(text);
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text) || value <= 0) {
    throw new InvalidArgumentError("expected a number greater than 0, as 1, 10 or 0.5.");
  }
  return value;
}

/** Starts a cluster of this name as the recorded one was. */
async function startLike({ start }: Recording, name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "compute-cluster-replay-"));
  try {
    const file = join(folder, "cluster.yaml");
    await writeFile(file, start.cluster, { mode: 0o600 });
    const reason = await runOurs(["up", "--file", file, "--name", name, "--port", "0", "--detach"]);
    if (reason !== undefined) {
      throw new Error(`a cluster like the recorded one did not start: ${reason}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @returns the exit code */
async function replay(
  recording: Recording,
  name: string,
  { speed: times, json }: ReplayOptions,
  terminal: Terminal,
): Promise<number> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  const signal = interruptSignal();
  const directory: StateDir = stateDir(rootOf(name), "/");
  const run = (words: readonly string[]) => runOurs([...words, "--state-dir", directory.root], signal);
  try {
    const session = await openReplaySession(runtime, directory);
    const { differences, left, ids } = await playRecording(recording, times, { session, run, runtime, signal });
    await run(["wait", "--for", "settled"]);
    const held = await heldNow(await openCloudSession(runtime.files, runtime.http, directory));
    const { end } = recording;
    const allocations = end === undefined ? null : heldDifferences(end.held, held, (id) => ids.of(id));
    const isSame = differences.length === 0 && (allocations ?? []).length === 0;
    if (json === true) {
      terminal.print(JSON.stringify({ cluster: name, differences, allocations, left }, null, 2));
    } else {
      for (const { at, what, expected, found } of differences) {
        terminal.print(`${(at / 1000).toFixed(1)} s ${what}: expected ${expected}, found ${found}`);
      }
      for (const text of allocations ?? []) {
        terminal.print(`allocations of ${text}`);
      }
      for (const text of left) {
        terminal.print(`left out: ${text}`);
      }
      const end =
        allocations === null ? "; the recording was broken off, so that what is held in the end is not known" : "";
      terminal.print(
        `${recording.events.length} events in cluster ${name}: ${isSame ? "it went the same way" : "it went otherwise, as said above"}${end}`,
      );
    }
    return isSame ? ExitCode.ok : ExitCode.failure;
  } finally {
    await runtime.http.close();
  }
}
