import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectionTo } from "../../../../drivers/fake-libvirt/hypervisor.js";
import { Virsh } from "../../../../drivers/fake-libvirt/virsh.js";
import type { Inside } from "../../../control-plane/extension.js";
import { quoted } from "../../../control-plane/identity/openrc.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { Snapshots } from "../../../control-plane/snapshot/snapshots.js";
import { type Dashboard, openDashboard } from "../../../dashboard/dashboard.js";
import type { RequestRing } from "../../../dashboard/request-ring.js";
import type { HostFolders } from "../../../dashboard/rows/guests.js";
import type { Shelved } from "../../../dashboard/rows/saved-items.js";
import type { EditRow } from "../../../dashboard/wire/rows.js";
import { readFaults } from "../../../faults/fault-file.js";
import { isLive } from "../../../faults/fault-set.js";
import { formatFaultRule } from "../../../faults/faults.js";
import type { Files } from "../../../runtime/files.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import { version } from "../../ui/command-line.js";
import { openLogTails } from "../logs/log-tail.js";
import { placeText } from "../place.js";
import { scenarioTitles } from "../scenario/read-scenario.js";
import { DashboardAudit } from "./audit-action.js";
import { auditPlanFile, createCommandActions } from "./cluster-actions.js";
import { CommandActions } from "./command-action.js";
import {
  askCompute,
  createServerActions,
  createServiceActions,
  imageId,
  readActionChoices,
} from "./compute-actions.js";

/** Folders of a fake-libvirt hypervisor that change with its guests. */
const GUESTS = ["domains", "state"];

/** The folder of the built page, beside the bundle. */
const PAGE = fileURLToPath(new URL("./dashboard", import.meta.url));

/** Creates the dashboard of a cluster, with the actions that commands perform. */
export function clusterDashboard(
  inside: Inside,
  requests: RequestRing,
  runtime: Runtime,
  directory: StateDir,
): Dashboard {
  const commands = new CommandActions();
  const place = placeText(directory.root);
  const audit = new DashboardAudit(commands, `${quoted(auditPlanFile(directory))}${place}`);
  const ask = askCompute({ runtime, directory });
  return openDashboard(inside, {
    runtime,
    requests,
    digests: nodeDigests,
    pageFolder: PAGE,
    root: directory.root,
    clusterOption: place,
    version: version(),
    joinToken: async () => (await runtime.files.readIfPresent(directory.joinTokenFile))?.trim(),
    folders: hostFolders(directory, runtime),
    logs: openLogTails({ directory, files: runtime.files }),
    actions: [
      ...createCommandActions({ commands, audit }, place, { directory, files: runtime.files }),
      ...createServiceActions(ask),
      ...createServerActions(ask, (name) => imageId(name, { runtime, directory })),
    ],
    readChoices: () => readActionChoices({ runtime, directory }),
    savedItems: () => shelved(directory, runtime.files, audit.findings),
    onClose: () => commands.close(),
    faultPoints: [...AGENT_FAULTS.keys()],
  });
}

/** Returns the findings and edits of the last audit, the cluster's snapshots, and the scenarios of this package. */
async function shelved(directory: StateDir, files: Files, finding: Shelved["finding"]): Promise<Shelved> {
  const snapshots = await new Snapshots(directory, files).list();
  const titles = await scenarioTitles(files);
  return {
    finding,
    edit: await plannedEdits(files, auditPlanFile(directory)),
    snapshot: new Map(snapshots.map(({ name, savedAt, bytes }) => [name, { name, at: savedAt, bytes }])),
    scenario: new Map(titles.map(({ name, title }) => [name, { title }])),
  };
}

/**
 * Returns readers for the hosts of a state directory: fake-libvirt hypervisors and faults, whether their agents run or not.
 */
function hostFolders(directory: StateDir, deps: Pick<Runtime, "files" | "clock" | "logger">): HostFolders {
  const { files, clock } = deps;
  /** One for each watched host. It caches the guests that have not changed. */
  const hypervisors = new Map<string, Virsh>();
  return {
    read: async (host) => {
      const folder = directory.hypervisor(host);
      const has = (await files.stat(folder))?.kind === "folder";
      const virsh = hypervisors.get(host) ?? new Virsh(connectionTo(folder), deps);
      if (has) {
        hypervisors.set(host, virsh);
      } else {
        hypervisors.delete(host);
      }
      const rows = has ? await virsh.list({ all: true }) : undefined;
      const faults = await readFaults(directory.agent(host), AGENT_FAULTS, deps);
      return {
        guests: rows?.map(({ uuid, name, state }) => ({ uuid, name, state })),
        faults: faults.filter((fault) => isLive(fault, clock.now())).map(formatFaultRule),
      };
    },
    watch: (host, listener) => {
      const ends: (() => void)[] = [];
      const isFault = (names?: readonly string[]) => names?.every((name) => !name.startsWith("faults")) !== true;
      const watch = (folder: string, matters: (names?: readonly string[]) => boolean): void => {
        ends.push(files.watch(folder, (names) => matters(names) && listener()));
      };
      try {
        watch(directory.agent(host), isFault);
        for (const name of hypervisors.has(host) ? GUESTS : []) {
          watch(join(directory.hypervisor(host), name), () => true);
        }
      } catch (error) {
        for (const end of ends) {
          end();
        }
        throw error;
      }
      return () => {
        hypervisors.delete(host);
        for (const end of ends) {
          end();
        }
      };
    },
  };
}

/** Returns the edits of a plan file; empty if there is no readable plan. */
async function plannedEdits(files: Files, path: string): Promise<ReadonlyMap<string, EditRow>> {
  if ((await files.stat(path)) === undefined) {
    return new Map();
  }
  // Loaded only when needed: the module is large, and most clusters have no plan.
  const [{ readPlan }, { describeAction, subjectsOf }] = await Promise.all([
    import("../../../audit/plan/plan-file.js"),
    import("../../../audit/plan/plan.js"),
  ]);
  const plan = await readPlan(files, path, "devstack").catch(() => undefined);
  return new Map(
    plan?.edits.map(({ findings, reason, action }, index) => {
      const [subject = ""] = subjectsOf(action);
      return [`${index} ${subject}`, { findings, reason, does: describeAction(action), subject }];
    }),
  );
}
