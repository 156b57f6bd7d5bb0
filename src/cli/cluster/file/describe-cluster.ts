import { stateDir } from "../../../control-plane/local/state-dir.js";
import { SeedRejectedError } from "../../../control-plane/seed/seed-rejected.js";
import { nodeDigests } from "../../../runtime/node/node-digests.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import { describeScenario } from "../scenario/read-scenario.js";
import type { UpOptions } from "../up-children.js";
import type { FileFlags } from "./agree.js";
import { type ClusterDescription, readClusterFile } from "./read-cluster-file.js";

/**
 * What the file or the scenario that is named says; undefined: none is.
 * @param mayBeThere a scenario's cluster may be there already. @throws {FileInvalid} @throws {SeedRejectedError}
 */
export async function describeCluster(
  { file, scenario }: Pick<FileFlags, "file" | "scenario">,
  flags: { readonly options: UpOptions; readonly providedOptions: ReadonlySet<string> },
  mayBeThere: boolean,
): Promise<ClusterDescription | undefined> {
  const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() };
  if (scenario === undefined) {
    return file === undefined ? undefined : readClusterFile(file, flags, deps);
  }
  const { described } = await describeScenario(scenario, flags, deps);
  const { database, root } = stateDir(described.options.stateDir, deps.cwd);
  if (!mayBeThere && (await deps.files.stat(database)) !== undefined) {
    throw new SeedRejectedError(
      `${root} has a cluster, and a scenario begins with none; name another with --name or --state-dir, ` +
        `or play it in a cluster that runs: compute-cluster scenario run ${scenario}`,
    );
  }
  return described;
}
