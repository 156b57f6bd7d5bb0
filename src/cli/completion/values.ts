import { isClusterName } from "../../control-plane/local/known-clusters.js";
import { DEFAULT_STATE_DIR, hostsWithState, stateDir } from "../../control-plane/local/state-dir.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { knownClusters, nameOf, rootOf } from "../cluster/place.js";
import type { ValueKind } from "./complete.js";

/** Names that there are now, for the end of a line. What cannot be read has none. */
export async function valuesOf(kind: ValueKind, options: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const files = new NodeFiles();
  const name = options.get("name") ?? "";
  const root = isClusterName(name) ? rootOf(name) : (options.get("stateDir") ?? DEFAULT_STATE_DIR);
  const directory = stateDir(root, process.cwd());
  switch (kind) {
    case "host":
      return hostsWithState(files, directory);
    case "log": {
      const { SERVICES } = await import("../cluster/logs/find-sources.js");
      return ["control-plane", ...SERVICES, ...(await hostsWithState(files, directory))];
    }
    case "cluster":
      return (await knownClusters().roots()).map(nameOf).filter((found) => found !== null);
    case "snapshot": {
      const { Snapshots } = await import("../../control-plane/snapshot/snapshots.js");
      return (await new Snapshots(directory, files).list()).map((found) => found.name);
    }
    case "scenario":
      return (await import("../cluster/scenario/read-scenario.js")).scenarioNames(files);
    case "fault point":
      return [...(await import("../agent/agent-faults.js")).AGENT_FAULTS.keys()].map((point) => `${point}=`);
    case "driver":
      return Object.keys((await import("../agent/built-in-drivers.js")).BUILT_IN_DRIVERS);
    case "condition":
      return ["settled", "hosts=", "server="];
    case "file":
    case "folder":
      return [];
  }
}
