import { InvalidArgumentError } from "commander";
import type { HostRow } from "../../../conductor-client/methods/hosts.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { stateDir } from "../../../control-plane/local/state-dir.js";
import { expandHosts, HostRangeError } from "../../../records/host-range.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { quietLogger } from "../../ui/quiet-logger.js";
import { createTerminal } from "../../ui/terminal.js";
import { withOperatorSession } from "../operator-session.js";
import { unknownHost } from "../unknown-host.js";

/** What each command of `host` takes. */
export interface HostFlags {
  readonly stateDir: string;
  readonly all?: true;
  readonly json?: true;
}

export type HostPlace = ReturnType<typeof placeOf>;

/** A wrong host or range on the command line. */
export class InvalidHosts extends Error {
  override readonly name = "InvalidHosts";
}

function placeOf({ stateDir: stateDirOption }: Pick<HostFlags, "stateDir">) {
  return {
    directory: stateDir(stateDirOption, process.cwd()),
    runtime: createNodeRuntime({ logger: quietLogger }),
    terminal: createTerminal(),
  };
}

/** Works with the running cluster, and sees to it that nothing is left open. */
export async function withCluster(
  flags: HostFlags,
  work: (session: HostSession, place: HostPlace) => Promise<number>,
): Promise<number> {
  const place = placeOf(flags);
  try {
    return await withOperatorSession("host", place, (session) => work(session, place));
  } finally {
    await place.runtime.http.close();
  }
}

/** The names of one argument, for `Command.argument`. */
export function collectHosts(text: string, before: readonly string[] = []): readonly string[] {
  try {
    return [...before, ...expandHosts(text)];
  } catch (error) {
    throw error instanceof HostRangeError ? new InvalidArgumentError(`${error.message}.`) : error;
  }
}

/** The rows of the hosts that are meant, in the order of the command line. @throws {InvalidHosts} */
export function chosenHosts(
  hosts: readonly string[],
  all: boolean,
  rows: readonly HostRow[],
  root: string,
): readonly HostRow[] {
  if (all) {
    if (hosts.length > 0) {
      throw new InvalidHosts(`found --all and ${hosts[0]}, expected one of the two`);
    }
    return rows;
  }
  if (hosts.length === 0) {
    throw new InvalidHosts("found no host, expected names or ranges such as devstack[1-3], or --all");
  }
  const known = new Map(rows.map((row) => [row.host, row]));
  return [...new Set(hosts)].map((host) => {
    const row = known.get(host);
    if (row === undefined) {
      throw new InvalidHosts(unknownHost(host, root, [...known.keys()]));
    }
    return row;
  });
}
