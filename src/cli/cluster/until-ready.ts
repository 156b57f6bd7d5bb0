import type { HostSession } from "../../conductor-client/port.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import type { Runtime } from "../../runtime/runtime.js";
import { ProgressBar, type Terminal } from "../ui/terminal.js";

const HEARTBEAT_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 200;
/** A wait that is shorter than this is not shown. */
const SHOW_AFTER_MS = 1_000;

export interface ReadinessOptions {
  /** Names those hosts of the whole cluster that have yet to report, in one request. */
  readonly hostsToReport: () => Promise<readonly string[]>;
  readonly runtime: Pick<Runtime, "clock" | "timers">;
  /** Called after a second and at each poll from then on, with the hosts that are waited for. */
  readonly onProgress?: (waiting: readonly string[]) => void;
}

/**
 * Waits until servers can be scheduled to these hosts, whose agents serve: until each that needs a heartbeat for that has sent one.
 * A host that is disabled or forced down, or whose agent ends meanwhile, is waited for no longer.
 * @returns the hosts that have sent none within a minute
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
 * As {@link untilReady}, over an operator's session.
 * @param terminal shows the wait by a bar where standard error is a terminal, else by one line; null: the wait is not shown
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
      terminal.complain(`compute-cluster: ${waitingText(waiting)}`);
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

/** Why a host that serves is no success, and what to do. */
export function noHeartbeatText(host: string): string {
  return (
    `its agent serves, but has sent no heartbeat for ${HEARTBEAT_TIMEOUT_MS / 1000} s, so that no server is scheduled there; ` +
    `"compute-cluster host logs ${host}" shows why, "host kill ${host}" and "host start ${host}" start it again`
  );
}
