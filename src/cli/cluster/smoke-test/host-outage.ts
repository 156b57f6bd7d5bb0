import type { HostSession } from "../../../conductor-client/port.js";
import type { CloudSession } from "../../../control-plane/local/cloud-session.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { withOperatorSession } from "../operator-session.js";
import { HostSettingsStore } from "../saved-hosts.js";

const VERSION = "2.79";
/** Milliseconds between two looks at a host. */
const PAUSE = 200;
/** Ends a program as a crash does, after which `up` starts it again; one that is killed or terminated stays down. */
const CRASH = "SIGUSR2";

/** The host cannot fail here: nobody would bring it back. */
export class NoOutage extends Error {
  override readonly name = "NoOutage";
}

export interface OutagePlace {
  readonly runtime: Runtime;
  readonly directory: StateDir;
  readonly session: CloudSession;
  /** Milliseconds that a host may take to come back. */
  readonly timeoutMs: number;
}

/**
 * The host fails and is fenced: its agent stands still, and it is forced down. @returns what brings it back: the agent
 * crashes, `up` starts it again, and when it has cleaned up, the host is forced up. @throws {NoOutage}
 */
export async function failHost(host: string, place: OutagePlace): Promise<() => Promise<void>> {
  const { runtime, directory, session } = place;
  if (!Object.hasOwn(await new HostSettingsStore(runtime.files, directory).read(), host)) {
    throw new NoOutage(`nobody would start the agent of ${host} again: compute-cluster up did not start it`);
  }
  const pid = await withOperatorSession("drill", place, (conductor) => agentOf(host, conductor, runtime));
  if (pid === null) {
    throw new NoOutage(`no agent of this machine holds ${host}`);
  }
  process.kill(pid, "SIGSTOP");
  try {
    await force(host, true, session);
  } catch (error) {
    process.kill(pid, "SIGCONT");
    throw error;
  }
  return async () => {
    process.kill(pid, CRASH);
    process.kill(pid, "SIGCONT");
    await withOperatorSession("drill", place, async (conductor) => {
      await until(place, `compute-cluster up did not start the agent of ${host} again`, async () => {
        const next = await agentOf(host, conductor, runtime);
        return next !== null && next !== pid;
      });
    });
    await until(place, `${host} did not clean up, and cannot be forced up`, () => forcedUp(host, session));
    await until(place, `${host} did not come up again`, async () => (await serviceOf(host, session)).state === "up");
  };
}

/** Pid of the host's agent; null: there is none here. */
async function agentOf(host: string, conductor: HostSession, { processes }: Runtime): Promise<number | null> {
  const holder = await conductor.call("host_lease_holder", { host });
  return holder?.connected && holder.machine === processes.machine ? holder.pid : null;
}

async function until({ runtime, timeoutMs }: OutagePlace, otherwise: string, holds: () => Promise<boolean>) {
  const { clock, timers } = runtime;
  const deadline = clock.monotonic() + timeoutMs;
  while (!(await holds())) {
    if (clock.monotonic() > deadline) {
      throw new Error(`${otherwise} within ${timeoutMs / 1000} s`);
    }
    await timers.sleep(PAUSE);
  }
}

/** False: it has evacuated guests that are not cleaned up yet. */
async function forcedUp(host: string, session: CloudSession): Promise<boolean> {
  try {
    await force(host, false, session);
    return true;
  } catch (error) {
    if (error instanceof Error && "status" in error && error.status === 400) {
      return false;
    }
    throw error;
  }
}

async function force(host: string, down: boolean, session: CloudSession): Promise<void> {
  const { id } = await serviceOf(host, session);
  await session.request("compute", "PUT", `/os-services/${id}`, VERSION, { forced_down: down });
}

async function serviceOf(
  host: string,
  session: CloudSession,
): Promise<{ readonly id: string; readonly state: string }> {
  const path = `/os-services?binary=nova-compute&host=${host}`;
  const { services } = (await session.request("compute", "GET", path, VERSION)) as {
    readonly services: readonly { readonly id: string; readonly state: string }[];
  };
  const [service] = services;
  if (service === undefined) {
    throw new Error(`the cloud has no compute service of ${host}`);
  }
  return service;
}
