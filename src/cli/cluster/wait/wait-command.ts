import { type Command, InvalidArgumentError } from "commander";
import { isClusterError } from "../../../control-plane/cluster-error.js";
import { type CloudSession, openCloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { CommandError, ExitCode, exitCodeOf } from "../../ui/exit-code.js";
import { exitCodeHelp } from "../../ui/help-format.js";
import { interruptSignal } from "../../ui/process-lifecycle.js";
import type { Terminal } from "../../ui/terminal.js";
import { type ClusterContext, clusterCommand, inCluster } from "../cluster-command.js";
import { withOperatorSession } from "../operator-session.js";
import { placeText } from "../place.js";
import { type Condition, checkCondition, parseCondition } from "./condition.js";

interface WaitOptions {
  readonly for: readonly Condition[];
  readonly timeout: number;
}

/** Milliseconds between two polls. */
const LOOK_EVERY = 200;

export function waitCommand(): Command {
  return clusterCommand("wait")
    .summary("Wait until a cluster reaches a state")
    .description(
      "Waits until all conditions hold at the same time. If the cluster is not started yet, the command reports that and " +
        "waits for it.",
    )
    .option(
      "--for <condition>",
      "condition; repeatable (default: settled): hosts=N (servers can be scheduled to N hosts), settled (no operation is " +
        "running on any server), server=NAME:STATUS (for example server=vm1:ACTIVE; DELETED: the server does not exist)",
      parseCondition,
      [],
    )
    .option("--timeout <seconds>", "timeout in seconds", seconds, 60)
    .addHelpText(
      "after",
      exitCodeHelp({
        0: "all conditions hold",
        1: "the timeout has passed, or a condition cannot be met any more",
        2: "wrong arguments",
        4: "no control plane",
      }),
    )
    .action(inCluster(wait));
}

function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || value > 86_400) {
    throw new InvalidArgumentError("expected seconds, at most 86400.");
  }
  return value;
}

async function wait(
  { directory, runtime, terminal, stateDirOption }: ClusterContext,
  { for: requestedConditions, timeout }: WaitOptions,
): Promise<number> {
  const interrupt = interruptSignal();
  const conditions: readonly Condition[] =
    requestedConditions.length === 0 ? [{ kind: "settled" }] : requestedConditions;
  const place: Place = { directory, runtime, stateDirOption, cloud: undefined };
  let isReported = terminal.interactive;
  const until = runtime.clock.monotonic() + timeout * 1000;
  try {
    for (;;) {
      const left = await look(conditions, place);
      if (left === undefined) {
        return ExitCode.ok;
      }
      const over = runtime.clock.monotonic() >= until;
      if (over || interrupt.aborted) {
        throw new CommandError(left.code, `${over ? `timed out after ${timeout} s` : "interrupted"}: ${left.text}`);
      }
      show(left.text, terminal);
      if (!isReported && left.code === ExitCode.unreachable) {
        terminal.complain(`compute-agent: waiting for the cluster: ${left.text}`);
        isReported = true;
      }
      await runtime.timers.sleep(LOOK_EVERY);
    }
  } finally {
    show("", terminal);
  }
}

/** Writes over the current line, on a terminal only. */
function show(text: string, { interactive, columns, write }: Terminal): void {
  if (interactive) {
    write(`\r\x1b[K${text.slice(0, columns - 1)}`);
  }
}

interface Place {
  readonly directory: StateDir;
  readonly runtime: Runtime;
  /** The value of `--state-dir`. */
  readonly stateDirOption: string;
  /** The session of earlier polls, whose token is still valid. */
  cloud: Promise<CloudSession> | undefined;
}

/** Returns which conditions are not met yet, with the exit code for a timeout; undefined if all are met. */
async function look(
  conditions: readonly Condition[],
  place: Place,
): Promise<{ readonly text: string; readonly code: number } | undefined> {
  const { files, http } = place.runtime;
  try {
    const missing = await withOperatorSession("wait", place, async (session) => {
      const cloud = (): Promise<CloudSession> => {
        place.cloud ??= openCloudSession(files, http, place.directory);
        return place.cloud;
      };
      const clients = { session, cloud };
      return Promise.all(conditions.map((condition) => checkCondition(condition, clients)));
    });
    const messages = missing.filter((text) => text !== undefined);
    return messages.length === 0 ? undefined : { text: messages.join("; "), code: ExitCode.failure };
  } catch (error) {
    place.cloud = undefined;
    const isInVain = error instanceof CommandError && error.exitCode === ExitCode.failure;
    if (isInVain || !(error instanceof Error)) {
      throw error;
    }
    // The cluster may be about to start.
    const text = isClusterError(error, "NoLocalCloud")
      ? `no cluster was started there yet; run "compute-agent up${placeText(place.stateDirOption)}"`
      : error.message;
    return { text, code: exitCodeOf(error) };
  }
}
