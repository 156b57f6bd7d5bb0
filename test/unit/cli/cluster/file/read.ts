import { createHash } from "node:crypto";
import { type ClusterDescription, readClusterFile } from "../../../../../src/cli/cluster/file/read-cluster-file.js";
import type { UpOptions } from "../../../../../src/cli/cluster/up-children.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

export const OPTIONS: UpOptions = { hosts: 3, stateDir: "/state", configFile: [], ironic: 0 };

/** Returns the description in `/here/cluster.yaml` with this text. @param flags of `up` on the command line */
export async function described(text: string, flags: Partial<UpOptions> = {}): Promise<ClusterDescription> {
  const { files } = createVirtualRuntime();
  await files.write("/here/cluster.yaml", text);
  const digests = { sha256: (value: string) => createHash("sha256").update(value).digest("hex") };
  return readClusterFile(
    "cluster.yaml",
    { options: { ...OPTIONS, ...flags }, providedOptions: new Set(Object.keys(flags)) },
    { files, digests, cwd: "/here" },
  );
}

/** Returns the problems of the text, one per line. */
export async function problems(text: string, flags: Partial<UpOptions> = {}): Promise<readonly string[]> {
  try {
    await described(text, flags);
    return [];
  } catch (error) {
    return error instanceof Error ? error.message.split("\n") : [String(error)];
  }
}
