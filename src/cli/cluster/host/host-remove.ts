import { openCloudSession } from "../../../control-plane/local/cloud-session.js";
import { foldHosts } from "../../../records/host-range.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import { ExitCode } from "../../ui/exit-code.js";
import { ProgressBar } from "../../ui/progress-bar.js";
import { HostSettingsStore } from "../saved-hosts.js";
import { chosenHosts, type HostFlags, withCluster } from "./host-session.js";
import { HostNotRemoved, type RemovalParts, removeHost } from "./remove-host.js";

export interface RemoveFlags extends HostFlags {
  readonly evacuate?: true;
}

/** Hosts that are removed at a time. */
const AT_A_TIME = 8;
const CONTROL_TIMEOUT_MS = 3_600_000;

/** Removes hosts for good; what is half done is finished by the same command. @returns the exit code */
export function removeHosts(hosts: readonly string[], flags: RemoveFlags): Promise<number> {
  return withCluster(flags, async (session, { directory, runtime, terminal }) => {
    const rows = await session.call("list_hosts", { host: null });
    const chosen = chosenHosts(hosts, flags.all === true, rows, directory.root);
    const cloud = await openCloudSession(runtime.files, runtime.http, directory);
    const bar = new ProgressBar();
    const parts: RemovalParts = {
      session: cloud,
      timers: runtime.timers,
      process: async (host) => (await session.call("list_hosts", { host })).at(0),
      control: (host, action) => session.call("control_host", { host, action }, { timeout: CONTROL_TIMEOUT_MS }),
      forget: async (host) => {
        if (!(await session.call("forget_host", { host }))) {
          const settingsStore = new HostSettingsStore(runtime.files, directory);
          await settingsStore.read();
          await settingsStore.forget(host);
        }
      },
      progress: (host, left) => bar.update(`servers to leave ${host}`, left, 0),
    };
    const removed: string[] = [];
    const failures: { readonly host: string; readonly reason: string }[] = [];
    await mapConcurrently(chosen, AT_A_TIME, async ({ host }) => {
      try {
        await removeHost(host, flags.evacuate === true, parts);
        removed.push(host);
      } catch (error) {
        if (!(error instanceof HostNotRemoved)) {
          throw error;
        }
        failures.push({ host, reason: error.message });
      }
      bar.update("removing", removed.length + failures.length, chosen.length);
    });
    bar.clear();
    if (flags.json === true) {
      terminal.print(JSON.stringify({ removed, failures }, null, 2));
    } else if (removed.length > 0) {
      terminal.print(`${foldHosts(removed)} removed`);
    }
    for (const { reason } of failures) {
      terminal.complain(`compute-cluster host: ${reason}`);
    }
    return failures.length === 0 ? ExitCode.ok : ExitCode.failure;
  });
}
