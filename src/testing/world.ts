import { nodeClock, nodeTimers } from "../runtime/node/node-builtins.js";
import { inTemporaryFolder, NodeFiles } from "../runtime/node/node-files.js";
import { NodePrograms } from "../runtime/node/node-processes.js";
import { nodeRandom } from "../runtime/node/node-cryptography.js";
import { nodeStreams } from "../runtime/node/node-streams.js";
import { UndiciHttpClient } from "../runtime/node/undici-http-client.js";
import { createVirtualRuntime } from "../simulation/virtual-world.js";
import type { CheckDeps, DriverCheckOptions } from "./options.js";

type Work<T> = (deps: CheckDeps, folder: string) => Promise<T>;

const VIRTUAL_DAY = 86_400_000;

/** A case's doors and folder. @param folder of the real world, which is left as it is; left out: one that is removed. */
export async function inWorld<T>(
  { time = "real" }: DriverCheckOptions,
  work: Work<T>,
  folder: string | undefined,
): Promise<T> {
  if (time === "virtual") {
    const runtime = createVirtualRuntime();
    const deps = { ...runtime, processes: runtime.programs, sockets: runtime.streams };
    return runtime.runUntil(work(deps, "/driver-check"), { limit: VIRTUAL_DAY });
  }
  return inRealWorld(work, folder);
}

/** Not the whole runtime: who installs the package gets no package for servers and sockets. */
export async function inRealWorld<T>(work: Work<T>, folder?: string): Promise<T> {
  const http = new UndiciHttpClient();
  const deps = {
    clock: nodeClock(),
    timers: nodeTimers(),
    random: nodeRandom(),
    http,
    files: new NodeFiles(),
    processes: new NodePrograms(),
    sockets: nodeStreams(),
  };
  try {
    if (folder === undefined) {
      return await inTemporaryFolder(deps, "driver-check", (made) => work(deps, made));
    }
    await deps.files.makeFolder(folder, { mode: 0o700 });
    return await work(deps, folder);
  } finally {
    await http.close();
  }
}
