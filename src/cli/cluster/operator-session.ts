import { connectToConductor } from "../../conductor-client/connect-to-conductor.js";
import type { HostSession } from "../../conductor-client/port.js";
import { conductorUrl, readClusterAccess, type StateDir } from "../../control-plane/local/state-dir.js";
import type { Runtime } from "../../runtime/runtime.js";
import { version } from "../ui/command-line.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";

/** Timeout of the connection to a running control plane, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Runs `work` with a conductor session of a running cluster, for an operator's command. The connection is closed afterwards.
 * @param command name of the command in the conductor's logs
 * @throws {ClusterError} `NoLocalCloud`
 * @throws {CommandError} and the errors of connecting
 */
export async function withOperatorSession<T>(
  command: string,
  place: {
    readonly runtime: Runtime;
    readonly directory: StateDir;
    /**
     * Milliseconds between two reconnection attempts, and until it gives up. The defaults suit a control plane that does not
     * restart.
     */
    readonly again?: { readonly every: number; readonly timeoutMs: number };
  },
  work: (session: HostSession) => Promise<T>,
): Promise<T> {
  const { runtime, directory, again } = place;
  const { info, joinToken } = await readClusterAccess(runtime.files, directory);
  const { processes } = runtime;
  if (info.machine === processes.machine && !processes.isAlive(info.pid)) {
    throw new CommandError(
      ExitCode.unreachable,
      `the control plane of ${directory.root} is not running; start it with "compute-agent up" and try again`,
    );
  }
  const connection = connectToConductor({
    url: conductorUrl(info),
    joinToken,
    runtime,
    version: version(),
    giveUpAfter: again?.timeoutMs ?? CONNECT_TIMEOUT_MS,
    ...(again === undefined ? {} : { backoff: () => again.every }),
  });
  try {
    await connection.connected();
    return await work(connection.host(command, { lease: false }));
  } finally {
    await connection.close();
  }
}
