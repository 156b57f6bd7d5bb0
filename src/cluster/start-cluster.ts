import { resolve } from "node:path";
import { stateDir } from "../control-plane/local/state-dir.js";
import { nodeRandom } from "../runtime/node/node-cryptography.js";
import { NodeFiles, temporaryPath } from "../runtime/node/node-files.js";
import type { Cluster, StartClusterOptions } from "./cluster.js";
import { InProcessCluster } from "./in-process/in-process-cluster.js";
import { ProcessCluster } from "./process-cluster.js";

/**
 * Starts a cluster and resolves when all of its hosts are serving. Leaves nothing behind if the start fails.
 *
 * @example
 * ```ts
 * const cloud = await startCluster({ hosts: 2 });
 * try {
 *   await yourProgram({ env: cloud.env });
 *   await cloud.settled();
 *   assert.deepEqual(await cloud.audit(), []);
 * } finally {
 *   await cloud.stop();
 * }
 * ```
 *
 * @throws {Error} with the reason why the control plane or a host cannot start
 */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  const isTemporary = options.stateDir === undefined;
  const root = isTemporary ? temporaryPath("compute-cluster", nodeRandom()) : resolve(options.stateDir);
  const place = { directory: stateDir(root, "/"), isTemporary };
  const cluster =
    options.inProcess === false ? new ProcessCluster(options, place) : new InProcessCluster(options, place);
  await new NodeFiles().makeFolder(root, { mode: 0o700 });
  try {
    await cluster.start();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}
