import type { HostSession } from "../../conductor-client/port.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ProgressBar, type Terminal } from "../ui/terminal.js";

const HEARTBEAT_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 200;
/** A shorter wait is not displayed. */
const SHOW_AFTER_MS = 1_000;

export interface ReadinessOptions {
  /** Returns all hosts of the cluster that have not sent a heartbeat yet, in one request. */
  readonly hostsToReport: () => Promise<readonly string[]>;
  readonly runtime: Pick<Runtime, "clock" | "timers">;
  /** Called after a second, and at each later poll, with the remaining hosts. */
  readonly onProgress?: (waiting: readonly string[]) => void;
}

/**
 * Waits until servers can be scheduled to these hosts: until each that needs a heartbeat for that has sent one. Ignores
 * hosts that are disabled or forced down, or whose agents end meanwhile.
 * @returns the hosts without a heartbeat after a minute
 */
export async function untilReady(
  hosts: readonly string[],
  { hostsToReport, runtime: { clock, timers }, onProgress = () => undefined }: ReadinessOptions,
): Promise<readonly string[]> {
  const started = new Set(hosts);
  const begin = clock.monotonic();
  for (;;) {
    const waiting = started.size === 0 ? [] : (await hostsToReport()).filter((host) => started.has(host));
    const passed = clock.monotonic() - begin;
    if (waiting.length === 0 || passed >= HEARTBEAT_TIMEOUT_MS) {
      return waiting;
    }
    if (passed >= SHOW_AFTER_MS) {
      onProgress(waiting);
    }
    await timers.sleep(POLL_INTERVAL_MS);
  }
}

/**
 * Waits as {@link untilReady} does, over an operator's session.
 * @param terminal displays the wait as a bar if standard error is a terminal, else as one line; null: no display
 */
export async function untilReadyBySession(
  hosts: readonly string[],
  session: Pick<HostSession, "call">,
  runtime: ReadinessOptions["runtime"],
  terminal: Pick<Terminal, "complain"> | null,
): Promise<readonly string[]> {
  const hostsToReport = () => session.call("hosts_to_report", {});
  if (terminal === null) {
    return untilReady(hosts, { hostsToReport, runtime });
  }
  const bar = new ProgressBar();
  let isReported = bar.isVisible;
  const onProgress = (waiting: readonly string[]): void => {
    bar.update("waiting for heartbeats", hosts.length - waiting.length, hosts.length);
    if (!isReported) {
      terminal.complain(`compute-agent: ${waitingText(waiting)}`);
      isReported = true;
    }
  };
  try {
    return await untilReady(hosts, { hostsToReport, runtime, onProgress });
  } finally {
    bar.clear();
  }
}

export function waitingText(hosts: readonly string[]): string {
  return `waiting for the first heartbeat of ${hostsInShort(hosts)}`;
}

/** Returns the message about a serving host without a heartbeat, with what to do. */
export function noHeartbeatText(host: string): string {
  return (
    `its agent serves, but has sent no heartbeat for ${HEARTBEAT_TIMEOUT_MS / 1000} s, so no server is scheduled there; ` +
    `"compute-agent logs ${host}" shows why, "compute-agent host kill ${host}" and "compute-agent host start ${host}" restart it`
  );
}
