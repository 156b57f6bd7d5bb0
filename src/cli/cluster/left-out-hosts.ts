import { openCloudSession } from "../../control-plane/local/cloud-session.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { foldHosts } from "../../records/host-range.js";
import { createNodeRuntime } from "../../runtime/node/node-runtime.js";
import type { Runtime } from "../../runtime/runtime.js";
import { quietLogger } from "../ui/quiet-logger.js";
import { HostNotRemoved, removeHost } from "./host/remove-host.js";
import type { HostSettingsStore } from "./saved-hosts.js";
import { disableServices, enableServices } from "./service-gate.js";

interface Place {
  readonly settingsStore: Pick<HostSettingsStore, "forget">;
  readonly directory: StateDir;
  /** Hosts without servers are removed. */
  readonly remove: true | undefined;
}

/**
 * Sees to it that no server is scheduled to a host that nobody starts, and that those which are started again get servers again.
 * @param idle hosts that there were, and that are not started now. @returns what a person is told
 */
export async function leaveOut(
  idle: readonly string[],
  started: readonly string[],
  place: Place,
): Promise<readonly string[]> {
  return withRuntime(async (runtime) => {
    const session = await openCloudSession(runtime.files, runtime.http, place.directory);
    await enableServices(session, started);
    if (idle.length === 0) {
      return [];
    }
    const reasons: string[] = [];
    const removed: string[] = [];
    for (const host of place.remove === true ? idle : []) {
      try {
        await removeHost(host, false, {
          session,
          timers: runtime.timers,
          process: async () => undefined,
          control: () => Promise.reject(new HostNotRemoved(`nothing runs that has ${host}`)),
          forget: (name) => place.settingsStore.forget(name),
          progress: () => undefined,
        });
        removed.push(host);
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : String(error));
      }
    }
    const gone = new Set(removed);
    const left = idle.filter((host) => !gone.has(host));
    await disableServices(session, left);
    return [
      ...(removed.length === 0 ? [] : [`Removed: ${hostsInShort(removed)}.`]),
      ...reasons.map((reason) => `Not removed: ${reason}`),
      ...(left.length === 0 ? [] : [leftText(left)]),
    ];
  });
}

/** Hosts that a person has started get servers again, if only their being left out has kept these away. */
export async function reopen(hosts: readonly string[], directory: StateDir): Promise<void> {
  await withRuntime(async (runtime) => {
    await enableServices(await openCloudSession(runtime.files, runtime.http, directory), hosts);
  });
}

async function withRuntime<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const runtime = createNodeRuntime({ logger: quietLogger });
  try {
    return await work(runtime);
  } finally {
    await runtime.http.close();
  }
}

function leftText(hosts: readonly string[]): string {
  const names = hostsInShort(hosts);
  const named = foldHosts(hosts).length === names.length ? `'${names}'` : "HOST...";
  const hostArgument = hosts.length === 1 ? names : named;
  const one = hosts.length === 1;
  return [
    `Not started: ${names}, which ${one ? "was" : "were"} started before; disabled, so that no server is scheduled there.`,
    `  compute-cluster host start ${hostArgument}     starts ${one ? "it" : "them"}`,
    `  compute-cluster host remove ${hostArgument}    removes ${one ? "it" : "them"}, as does up --remove`,
  ].join("\n");
}
