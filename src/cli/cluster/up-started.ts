import { readlink, symlink } from "node:fs/promises";
import { join, relative } from "node:path";
import type { HostProcess } from "../../conductor-client/methods/session.js";
import { quoted } from "../../control-plane/identity/openrc.js";
import { openCloudSession } from "../../control-plane/local/cloud-session.js";
import { hostsInShort } from "../../control-plane/local/host-summary.js";
import { DEFAULT_STATE_DIR, readClusterInfo, type StateDir } from "../../control-plane/local/state-dir.js";
import type { Supervisor } from "../../control-plane/local/supervisor.js";
import type { DownHosts } from "../../control-plane/snapshot/saved-state.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { StatusLines } from "../ui/status-lines.js";
import { wrapWords } from "../ui/table.js";
import type { Terminal } from "../ui/terminal.js";
import { withRuntime } from "./cluster-command.js";
import { reportToStarter } from "./detached.js";
import type { ClusterDescription } from "./file/read-cluster-file.js";
import { CONTROL_PLANE, type HostSetting, type HostSettingsStore } from "./host-settings.js";
import { mirrorInPlacement } from "./manage-session.js";
import { withOperatorSession } from "./operator-session.js";
import { placeText } from "./place.js";
import { playNamed } from "./scenario/play.js";
import { saveStart } from "./snapshot/cluster-restore.js";
import { noHeartbeatText, untilReady, waitingText } from "./until-ready.js";
import { additionArguments, IRONIC_HOST, type UpOptions } from "./up-children.js";

interface Welcome {
  readonly url: string;
  /** The address for other machines; undefined if there is none. */
  readonly externalUrl: string | undefined;
  /** ` --name ci-7`: the option with which other commands find the cluster. */
  readonly where: string;
  /** Whether the process occupies a terminal. */
  readonly attached: boolean;
  readonly directory: StateDir;
  /** Whether the working directory's `clouds.yaml` is the cluster's. */
  readonly here: boolean;
  /** Names of an existing flavor and image for a first server; undefined if there are none. */
  readonly sample: { readonly flavor: string; readonly image: string } | undefined;
  /** Arguments that add a host to the running ones; undefined if a file defines the hosts. */
  readonly another: readonly string[] | undefined;
  /** Hosts that do not serve, with the reasons. */
  readonly missing: readonly HostProcess[];
  /** Hosts that were not started, because they are down in the restored state. */
  readonly leftDown: readonly HostProcess[];
}

/** Maximum number of hosts that are listed with the reason why they do not serve. */
const NAMED = 10;

/** A start of which all hosts serve that could be started. */
interface Startup {
  readonly options: UpOptions;
  readonly scenario: string | undefined;
  readonly described: ClusterDescription | undefined;
  /** Whether it continued from a saved state. */
  readonly isRestored: boolean;
  readonly supervisor: Supervisor;
  /** The address of the control plane. */
  readonly url: string;
  readonly settingsStore: HostSettingsStore;
  readonly settings: ReadonlyMap<string, HostSetting>;
  readonly directory: StateDir;
  readonly lines: StatusLines;
  readonly terminal: Terminal;
  readonly warn: (warning: string) => void;
  readonly interrupt: AbortSignal;
  /** Aborted once the cluster is stopping. */
  readonly ended: AbortSignal;
  /** Hosts that were not started, because they are down in the restored state. */
  readonly downHosts: DownHosts;
}

/**
 * Completes a start: waits until servers can be scheduled to its hosts, plays the scenario, saves the state for `reset`,
 * and prints the next steps.
 */
export async function completeStartup(startup: Startup): Promise<void> {
  const { options, scenario, described, isRestored, supervisor, directory, terminal } = startup;
  const reportStep = (say: string): void => {
    terminal.print(`- ${say}`);
    reportToStarter({ type: "up-step", say });
  };
  // A cluster with its state elsewhere does not change the working directory.
  const here = options.stateDir === DEFAULT_STATE_DIR && (await linkCloudsFile(process.cwd(), directory.cloudsFile));
  const externalUrl = (await readClusterInfo(new NodeFiles(), directory))?.externalUrl;
  startup.lines.pause();
  const silent = await untilHeartbeats(startup, reportStep);
  if (startup.ended.aborted) {
    return;
  }
  const isLeftDown = ({ host, state }: HostProcess) => startup.downHosts.get(host) === state;
  const leftDown = supervisor.hosts.filter(isLeftDown);
  const missing = supervisor.hosts.flatMap((found) => {
    if (isLeftDown(found)) {
      return [];
    }
    const reason = silent.has(found.host) ? noHeartbeatText(found.host) : found.reason;
    return found.state === "serving" && !silent.has(found.host) ? [] : [{ ...found, reason }];
  });
  const played =
    scenario === undefined || isRestored
      ? undefined
      : await playNamed(scenario, options.stateDir, { onStep: reportStep, signal: startup.interrupt });
  if (!isRestored) {
    // `reset` restores the requested state, including the scenario.
    await saveStart(directory);
  }
  const sample = await sampleServer(directory);
  const started = welcome(
    {
      url: startup.url,
      externalUrl,
      where: placeText(options.stateDir),
      attached: !process.connected,
      directory,
      here,
      sample,
      // A start with the file would remove the host again.
      another: described === undefined ? anotherHost(startup) : undefined,
      missing,
      leftDown,
    },
    terminal,
  );
  const text = played === undefined ? started : `${started}\n\n${played.text}`;
  terminal.print(text);
  if (described !== undefined) {
    await mirrorInPlacement(described, directory).catch((error: unknown) => {
      if (!supervisor.isStopping) {
        startup.warn(`the file's aggregates could not be added to Placement: ${errorMessage(error)}`);
      }
    });
  }
  reportToStarter({ type: "up-started", text, missing, failed: played?.failed === true });
}

/** Returns arguments of `host add` that add a host like the last one. */
function anotherHost({ settings, settingsStore }: Startup): readonly string[] {
  const counted = [...settings].flatMap(([host, { added }]) =>
    host === CONTROL_PLANE || host === IRONIC_HOST || added === true ? [] : [host],
  );
  let next = counted.length + 1;
  while (settingsStore.get(`devstack${next}`) !== undefined || settings.has(`devstack${next}`)) {
    next += 1;
  }
  return [`devstack${next}`, ...additionArguments(settings.get(counted.at(-1) ?? "") ?? { configFiles: [] })];
}

/**
 * Waits until servers can be scheduled to the serving hosts, or the cluster is stopping.
 * @returns the hosts without a heartbeat
 */
async function untilHeartbeats(
  { supervisor, directory, ended, warn }: Startup,
  reportStep: (say: string) => void,
): Promise<ReadonlySet<string>> {
  const serving = supervisor.hosts.filter(({ state }) => state === "serving").map(({ host }) => host);
  let isReported = false;
  const onProgress = (waiting: readonly string[]): void => {
    if (!isReported) {
      reportStep(waitingText(waiting));
      isReported = true;
    }
  };
  const end = new Promise<readonly string[]>((resolve) => {
    ended.addEventListener("abort", () => resolve([]), { once: true });
  });
  try {
    return new Set(
      await withRuntime((runtime) =>
        withOperatorSession("up", { runtime, directory }, (session) => {
          const hostsToReport = () => session.call("hosts_to_report", {});
          return Promise.race([untilReady(serving, { hostsToReport, runtime, onProgress }), end]);
        }),
      ),
    );
  } catch (error) {
    if (!ended.aborted) {
      warn(`could not check whether servers can be scheduled to the hosts: ${errorMessage(error)}`);
    }
    return new Set();
  }
}

interface FlavorView {
  readonly name: string;
  readonly ram: number;
  readonly disk: number;
}

interface ImageView {
  readonly name: string | null;
  readonly status: string;
  readonly min_ram: number;
  readonly min_disk: number;
}

/** devstack's names, which its users know. */
const USUAL = { flavor: "m1.tiny", image: /^cirros/ };

/** Returns a flavor and image for a first server: devstack's, or else the smallest flavor that fits an existing image. */
async function sampleServer(directory: StateDir): Promise<Welcome["sample"]> {
  const read = async (runtime: Runtime) => {
    const session = await openCloudSession(runtime.files, runtime.http, directory);
    const [{ flavors }, { images }] = await Promise.all([
      session.request("compute", "GET", "/flavors/detail", "2.1") as Promise<{ flavors: readonly FlavorView[] }>,
      session.request("image", "GET", "/v2/images", "2.0") as Promise<{ images: readonly ImageView[] }>,
    ]);
    return chooseSample(flavors, images);
  };
  // The message is useful without a sample server.
  return withRuntime(read).catch(() => undefined);
}

/** @internal for tests */
export function chooseSample(flavors: readonly FlavorView[], images: readonly ImageView[]): Welcome["sample"] {
  const active = images.filter(({ name, status }) => status === "active" && name !== null);
  const image = active.find(({ name }) => USUAL.image.test(name ?? "")) ?? active[0];
  const fitting = flavors
    .filter(({ ram, disk }) => ram >= (image?.min_ram ?? 0) && disk >= (image?.min_disk ?? 0))
    .toSorted((one, other) => one.ram - other.ram || one.disk - other.disk);
  const flavor = fitting.find(({ name }) => name === USUAL.flavor) ?? fitting[0];
  return flavor === undefined || image?.name == null ? undefined : { flavor: flavor.name, image: image.name };
}

/** Returns the text that `up` prints once all components have started. @internal */
export function welcome(
  { url, externalUrl, where, attached, directory, here, sample, another, missing, leftDown }: Welcome,
  terminal: Terminal,
): string {
  const { bold, red } = terminal.colors;
  return [
    "",
    `${bold("Identity")}   ${url}/identity/v3`,
    `${bold("Compute")}    ${url}/compute/v2.1`,
    `${bold("Placement")}  ${url}/placement`,
    `${bold("Image")}      ${url}/image`,
    `${bold("Network")}    ${url}/network`,
    `${bold("Volume")}     ${url}/volume`,
    `${bold("Ironic")}     ${url}/baremetal`,
    "",
    ...(here
      ? ["Point a client at it (in this folder; elsewhere run `compute-agent env`):", "  export OS_CLOUD=devstack"]
      : ["Point a client at it:", `  export OS_CLIENT_CONFIG_FILE=${quoted(directory.cloudsFile)} OS_CLOUD=devstack`]),
    ...(sample === undefined
      ? []
      : [`  openstack server create --flavor ${quoted(sample.flavor)} --image ${quoted(sample.image)} --wait vm1`]),
    "",
    ...(another === undefined
      ? []
      : [`Another host:   npx compute-agent host add ${another.map(quoted).join(" ")}${where}`]),
    ...(externalUrl === undefined ? [] : [`Other machines: npx compute-agent join${where}  (${externalUrl})`]),
    `Dashboard:      npx compute-agent open${where}  (${url})`,
    `Hosts, servers: npx compute-agent status${where}`,
    ...(leftDown.length === 0 ? [] : [leftDownText(leftDown, where)]),
    ...(missing.length === 0 ? [] : ["", `Some components did not start; see the logs in ${directory.logs}.`]),
    ...missing
      .slice(0, NAMED)
      .map(({ host, state, reason }) => red(wrapWords(`${host} ${state}: ${reason}`, terminal.columns))),
    ...(missing.length > NAMED ? [red(`and ${missing.length - NAMED} more: compute-agent host list${where}`)] : []),
    attached ? "Ctrl-C stops all of it." : `To stop it:     npx compute-agent down${where}`,
  ].join("\n");
}

function leftDownText(hosts: readonly HostProcess[], where: string): string {
  const names = hostsInShort(hosts.map(({ host }) => host));
  return `Left down, as in the restored state: ${names}; they start by  npx compute-agent host start HOST...${where}`;
}

/**
 * Links the folder's `clouds.yaml` to the cluster's, where clients look for it: `OS_CLOUD=devstack openstack …`.
 * @returns false if another file exists, which is kept
 * @internal
 */
export async function linkCloudsFile(folder: string, cloudsFile: string): Promise<boolean> {
  const link = join(folder, "clouds.yaml");
  const target = relative(folder, cloudsFile);
  try {
    await symlink(target, link);
    return true;
  } catch {
    return (await readlink(link).catch(() => undefined)) === target;
  }
}
