import { join } from "node:path";
import { connectionTo } from "../../../drivers/fake-libvirt/hypervisor.js";
import { Virsh } from "../../../drivers/fake-libvirt/virsh.js";
import type { HostSession } from "../../conductor-client/port.js";
import type { HypervisorGuest } from "../../control-plane/local/cluster-status.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Runtime } from "../../runtime/runtime.js";
import { withOperatorSession } from "./operator-session.js";

interface Place {
  readonly runtime: Runtime;
  readonly directory: StateDir;
}

/** Timeout for an agent that lists its guests, in milliseconds. */
const REPORT_TIMEOUT_MS = 5_000;

/**
 * Returns the guests that the agents of these hosts report, by host. Agents that do not respond are missing. The result is
 * empty if the conductor is unreachable, since callers can do without it.
 */
export async function reportedGuests(
  hosts: readonly string[],
  command: string,
  place: Place,
): Promise<ReadonlyMap<string, readonly HypervisorGuest[]>> {
  if (hosts.length === 0) {
    return new Map();
  }
  const askAll = (session: HostSession) =>
    Promise.all(hosts.map((host) => askOne(host, session, place).catch(() => null)));
  const reports = await withOperatorSession(command, place, askAll).catch(() => []);
  return new Map(
    hosts.flatMap((host, index): [string, readonly HypervisorGuest[]][] => {
      const found = reports[index];
      return found ? [[host, found]] : [];
    }),
  );
}

/** Returns the guests that the agent of this host reports. @throws any error of the request */
export function guestsReportedBy(host: string, command: string, place: Place): Promise<readonly HypervisorGuest[]> {
  return withOperatorSession(command, place, (session) => askOne(host, session, place));
}

function askOne(host: string, session: HostSession, { runtime }: Place): Promise<readonly HypervisorGuest[]> {
  const options = { timeout: REPORT_TIMEOUT_MS, requestId: `req-${runtime.random.uuid()}` };
  return session.callAgent(host, "list_guests", {}, options);
}

/**
 * Returns the guests of every hypervisor in the state directory, by its folder's name. That is the host's name, unless the
 * operator configured another.
 */
export async function hypervisorGuests(
  directory: StateDir,
  deps: Pick<Runtime, "files" | "clock" | "logger">,
): Promise<ReadonlyMap<string, readonly HypervisorGuest[]>> {
  const hosts = await deps.files.list(directory.hypervisors);
  const guests = await Promise.all(
    hosts.map((host) => new Virsh(connectionTo(join(directory.hypervisors, host)), deps).list({ all: true })),
  );
  return new Map(
    hosts.map((host, index) => [host, (guests[index] ?? []).map(({ uuid, name, state }) => ({ uuid, name, state }))]),
  );
}

/** Returns the guests of the hypervisors in the state directory, and those that the agents of other hosts report. */
export async function guestsByHost(
  hosts: readonly string[],
  command: string,
  place: Place,
): Promise<ReadonlyMap<string, readonly HypervisorGuest[]>> {
  const inFolders = await hypervisorGuests(place.directory, place.runtime);
  const others = hosts.filter((host) => !inFolders.has(host));
  return new Map([...inFolders, ...(await reportedGuests(others, command, place))]);
}
