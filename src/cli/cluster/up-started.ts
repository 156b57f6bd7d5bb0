import { DEFAULT_STATE_DIR, readClusterInfo, type StateDir } from "../../cluster/local/state-dir.js";
import type { Supervisor } from "../../cluster/local/supervisor.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import type { StatusLines } from "../ui/status-lines.js";
import type { Terminal } from "../ui/terminal.js";
import { reportToStarter } from "./detached.js";
import { mirrorInPlacement } from "./file/mirror-in-placement.js";
import type { ClusterDescription } from "./file/read-cluster-file.js";
import type { HostSetting, KeptHosts } from "./kept-hosts.js";
import { linkCloudsFile } from "./link-clouds-file.js";
import { placeText } from "./place.js";
import { playNamed } from "./scenario/play-named.js";
import { saveStart } from "./snapshot/up-restore.js";
import { additionArguments, hostsOf, type UpOptions } from "./up-children.js";
import { welcome } from "./welcome.js";

/** The start that has come about. */
interface Started {
  readonly options: UpOptions;
  readonly scenario: string | undefined;
  readonly described: ClusterDescription | undefined;
  /** It goes on from a saved state. */
  readonly isRestored: boolean;
}

interface StartedPlace {
  readonly supervisor: Supervisor;
  /** The address of the control plane. */
  readonly url: string;
  readonly kept: KeptHosts;
  readonly settings: ReadonlyMap<string, HostSetting>;
  readonly directory: StateDir;
  readonly lines: StatusLines;
  readonly terminal: Terminal;
  readonly warn: (warning: string) => void;
  readonly interrupt: AbortSignal;
}

/** Once all serve that could be started: plays the scenario, saves the state for `reset`, and says how to go on. */
export async function tellStarted(
  { options, scenario, described, isRestored }: Started,
  { supervisor, url, kept, settings, directory, lines, terminal, warn, interrupt }: StartedPlace,
): Promise<void> {
  const tellStep = (say: string): void => {
    terminal.print(`- ${say}`);
    reportToStarter({ type: "up-step", say });
  };
  // A cluster that is kept elsewhere leaves the working directory alone.
  const here = options.stateDir === DEFAULT_STATE_DIR && (await linkCloudsFile(process.cwd(), directory.cloudsFile));
  const outside = (await readClusterInfo(new NodeFiles(), directory))?.outside;
  const missing = supervisor.hosts.filter(({ state }) => state !== "serving");
  const counted = hostsOf(options);
  let next = counted.length + 1;
  while (kept.get(`devstack${next}`) !== undefined) {
    next += 1;
  }
  // What the last one has, a further one would have.
  const setting = settings.get(counted.at(-1) ?? "") ?? { configFiles: [] };
  // A start with the file again would take it away.
  const another = described === undefined ? [`devstack${next}`, ...additionArguments(setting)] : undefined;
  lines.pause();
  const played =
    scenario === undefined || isRestored
      ? undefined
      : await playNamed(scenario, options.stateDir, { onStep: tellStep, signal: interrupt });
  if (!isRestored) {
    // What reset goes back to is the state that was asked for.
    await saveStart(supervisor.hosts, directory);
  }
  const where = placeText(options.stateDir);
  const attached = !process.connected;
  const started = welcome({ url, outside, where, attached, directory, here, another, missing }, terminal);
  const text = played === undefined ? started : `${started}\n\n${played.text}`;
  terminal.print(text);
  if (described !== undefined) {
    await mirrorInPlacement(described, directory).catch((error: unknown) => {
      if (!supervisor.isStopping) {
        warn(`Placement does not have the file's aggregates yet: ${error instanceof Error ? error.message : error}`);
      }
    });
  }
  reportToStarter({ type: "up-started", text, missing, failed: played?.failed === true });
}
