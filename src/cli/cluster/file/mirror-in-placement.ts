import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { mirrorAggregates } from "../../../control-plane/manage/mirror-aggregates.js";
import { createNodeRuntime } from "../../../runtime/node/node-runtime.js";
import { quietLogger } from "../../ui/quiet-logger.js";
import { partsOf } from "../manage/run.js";
import { withOperatorSession } from "../operator-session.js";
import type { ClusterDescription } from "./read-cluster-file.js";

/** Puts the providers of the file's hosts into Placement's aggregates, once they are there. */
export async function mirrorInPlacement({ options }: ClusterDescription, directory: StateDir): Promise<void> {
  const { named, configFile } = options;
  if (named === undefined || named.size === 0) {
    return;
  }
  const runtime = createNodeRuntime({ logger: quietLogger });
  const place = { runtime, stateDir: directory.root, print: () => undefined };
  try {
    await withOperatorSession("up", { runtime, directory }, async (conductor) => {
      const parts = await partsOf({ configFile }, { ...place, conductor });
      await mirrorAggregates(parts, new Set(named.keys()));
    });
  } finally {
    await runtime.http.close();
  }
}
