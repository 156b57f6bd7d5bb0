import type { AgentState, HostProcess } from "../../../conductor-client/methods/hosts.js";
import type { HostAction } from "../../../conductor-client/methods/session.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { foldHosts } from "../../../records/host-range.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import { ExitCode } from "../../ui/exit-code.js";
import { ProgressBar } from "../../ui/progress-bar.js";
import type { Terminal } from "../../ui/terminal.js";
import { noHeartbeatText, type ReadinessOptions, untilReadyBySession } from "../until-ready.js";
import { viewOf } from "./host-list.js";
import { chosenHosts, type HostFlags, withCluster } from "./host-session.js";

/** What became of one host. */
export interface HostOutcome {
  readonly process: HostProcess;
  /** Undefined: it is as it was to be. */
  readonly failure?: string;
}

/** Commands that are under way at a time. */
const AT_A_TIME = 64;
/** A draining agent has as long as its configuration says; the person who waits may press Ctrl-C. */
const CONTROL_TIMEOUT_MS = 3_600_000;
/** Failures that are told one by one. */
const NAMED = 20;

const DOING: Readonly<Record<HostAction, string>> = { start: "starting", stop: "stopping", kill: "killing" };

/** Starts, stops or kills hosts, and waits until they are in their new states. @returns the exit code */
export function controlHosts(action: HostAction, hosts: readonly string[], flags: HostFlags): Promise<number> {
  return withCluster(flags, async (session, { directory, runtime, terminal }) => {
    const rows = await session.call("list_hosts", { host: null });
    const chosen = chosenHosts(hosts, flags.all === true, rows, directory.root);
    const done = await controlAll(action, chosen, session);
    const outcomes = action === "start" ? await withHeartbeats(done, session, { runtime, terminal }) : done;
    return reportOutcomes(outcomes, flags.json === true, terminal);
  });
}

/** Does the same to every host, and shows how far it has come. */
export async function controlAll(
  action: HostAction,
  rows: readonly HostProcess[],
  session: Pick<HostSession, "call">,
): Promise<readonly HostOutcome[]> {
  const bar = new ProgressBar();
  let done = 0;
  bar.update(DOING[action], done, rows.length);
  try {
    return await mapConcurrently(rows, AT_A_TIME, async (row) => {
      const outcome = await controlOne(action, row, session);
      done += 1;
      bar.update(DOING[action], done, rows.length);
      return outcome;
    });
  } finally {
    bar.clear();
  }
}

/** Waits until servers can be scheduled to the hosts that serve. Those that send no heartbeat have failed. */
export async function withHeartbeats(
  outcomes: readonly HostOutcome[],
  session: Pick<HostSession, "call">,
  {
    runtime,
    terminal,
  }: { readonly runtime: ReadinessOptions["runtime"]; readonly terminal: Pick<Terminal, "complain"> },
): Promise<readonly HostOutcome[]> {
  const serving = outcomes.filter(({ failure }) => failure === undefined).map(({ process }) => process.host);
  const silent = new Set(await untilReadyBySession(serving, session, runtime, terminal));
  return outcomes.map((outcome) =>
    silent.has(outcome.process.host) ? { ...outcome, failure: noHeartbeatText(outcome.process.host) } : outcome,
  );
}

async function controlOne(
  action: HostAction,
  row: HostProcess,
  session: Pick<HostSession, "call">,
): Promise<HostOutcome> {
  try {
    const process = await session.call("control_host", { host: row.host, action }, { timeout: CONTROL_TIMEOUT_MS });
    const isDone = action === "start" ? process.state === "serving" : ENDED.includes(process.state);
    return isDone ? { process } : { process, failure: `${process.state}: ${process.reason || "no reason is known"}` };
  } catch (error) {
    return { process: row, failure: error instanceof Error ? error.message : String(error) };
  }
}

const ENDED: readonly AgentState[] = ["stopped", "killed", "failed"];

/** Prints what became of the hosts. @returns the exit code: of a single agent that refused its own */
export function reportOutcomes(
  outcomes: readonly HostOutcome[],
  json: boolean,
  terminal: Pick<Terminal, "print" | "complain">,
): number {
  const failed = outcomes.filter(({ failure }) => failure !== undefined);
  if (json) {
    const views = outcomes.map(({ process, failure }) => ({ ...viewOf(process), failure: failure ?? null }));
    terminal.print(JSON.stringify(views, null, 2));
  } else {
    const done = new Map<AgentState, string[]>();
    for (const { process } of outcomes.filter(({ failure }) => failure === undefined)) {
      const hosts = done.get(process.state);
      if (hosts === undefined) {
        done.set(process.state, [process.host]);
      } else {
        hosts.push(process.host);
      }
    }
    for (const [state, hosts] of done) {
      terminal.print(`${foldHosts(hosts)} ${state}`);
    }
  }
  for (const { process, failure } of failed.slice(0, NAMED)) {
    terminal.complain(`compute-cluster host: ${process.host}: ${failure}`);
  }
  if (failed.length > NAMED) {
    terminal.complain(
      `compute-cluster host: ${failed.length - NAMED} more failed; compute-cluster host list shows all`,
    );
  }
  const codes = new Set(failed.map(({ process }) => process.exitCode ?? ExitCode.failure));
  const [code = ExitCode.ok] = codes;
  return codes.size > 1 || (failed.length > 0 && code === ExitCode.ok) ? ExitCode.failure : code;
}
