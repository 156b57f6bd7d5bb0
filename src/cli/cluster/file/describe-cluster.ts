import { nodeDigests } from "../../../runtime/node/node-digests.js";
import { NodeFiles } from "../../../runtime/node/node-files.js";
import type { UpOptions } from "../up-children.js";
import { type ClusterDescription, readClusterFile } from "./read-cluster-file.js";

/** The file at a path, with the flags beside it. @throws {ClusterFileInvalid} */
export function describeCluster(
  path: string,
  flags: { readonly options: UpOptions; readonly given: ReadonlySet<string> },
): Promise<ClusterDescription> {
  return readClusterFile(path, flags, { files: new NodeFiles(), digests: nodeDigests, cwd: process.cwd() });
}
