import { fileURLToPath } from "node:url";
import type { Inside } from "../../../control-plane/extension.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { type Dashboard, openDashboard } from "../../../dashboard/dashboard.js";
import type { Shelved } from "../../../dashboard/rows/saved-items.js";
import type { Files } from "../../../runtime/files.js";
import { nodeDigests } from "../../../runtime/node/node-digests.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import { version } from "../../ui/version.js";
import { placeText } from "../place.js";
import { scenarioTitles } from "../scenario/read-scenario.js";
import { auditPlanFile, createClusterActions } from "./cluster-actions.js";
import { CommandActions } from "./command-action.js";
import { createHostActions } from "./host-actions.js";
import { hostFolders } from "./host-folders.js";
import { plannedEdits } from "./planned-edits.js";
import { askCompute, createServerActions, imageId } from "./server-actions.js";
import { createServiceActions } from "./service-actions.js";

/** Where the build has put the page: beside the bundle. */
const PAGE = fileURLToPath(new URL("./dashboard", import.meta.url));

/** The page of a cluster, with what commands can do on it. */
export function clusterDashboard(inside: Inside, runtime: Runtime, directory: StateDir): Dashboard {
  const commands = new CommandActions();
  const place = placeText(directory.root);
  const ask = askCompute({ runtime, directory });
  return openDashboard(inside, {
    runtime,
    digests: nodeDigests,
    pageFolder: PAGE,
    root: directory.root,
    version: version(),
    joinToken: async () => (await runtime.files.readIfPresent(directory.joinTokenFile))?.trim(),
    folders: hostFolders(directory, runtime),
    actions: [
      ...createHostActions(commands, place),
      ...createClusterActions(commands, place, { directory, files: runtime.files }),
      ...createServiceActions(ask),
      ...createServerActions(ask, (name) => imageId(name, { runtime, directory })),
    ],
    savedItems: () => shelved(directory, runtime.files),
    onClose: () => commands.close(),
    faultPoints: [...AGENT_FAULTS.keys()],
  });
}

/** What the last audit would do, the cluster's snapshots, and the scenarios of this package. */
async function shelved(directory: StateDir, files: Files): Promise<Shelved> {
  const snapshots = await new Snapshots(directory, files).list();
  const titles = await scenarioTitles(files);
  return {
    edit: await plannedEdits(files, auditPlanFile(directory)),
    snapshot: new Map(snapshots.map(({ name, savedAt, bytes }) => [name, { name, at: savedAt, bytes }])),
    scenario: new Map(titles.map(({ name, title }) => [name, { title }])),
  };
}
