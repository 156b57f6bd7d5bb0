import type { AgentPlan } from "../../cluster/local/agent-process.js";
import type { StateDir } from "../../cluster/local/state-dir.js";
import type { Supervisor, SupervisorOptions } from "../../cluster/local/supervisor.js";
import type { Release } from "../../records/index.js";
import { agentPlans, groupsOf, type HostGroup, type Sharing } from "./agent-plans.js";
import type { HostSetting, HostSettings } from "./kept-hosts.js";
import { type ListenFlags, listenArguments } from "./listen.js";

export interface UpOptions extends ListenFlags {
  readonly hosts: number;
  readonly processes?: number;
  readonly hostsPerProcess?: number;
  readonly remove?: true;
  readonly stateDir: string;
  readonly port?: number;
  readonly configFile: readonly string[];
  readonly releases?: readonly Release[];
  readonly allowResizeToSameHost?: true;
  readonly reclaimInstanceInterval?: string;
  readonly serviceDeletePolicy?: string;
  readonly ironic: number;
  readonly driver?: string;
  readonly changeDriver?: true;
  readonly logRequests?: true;
  readonly logFormat?: "pretty" | "json";
  /** The hosts of a cluster file with all that each is started with, oldest release first; they stand for `hosts` and `releases`. */
  readonly named?: ReadonlyMap<string, HostSetting>;
}

/** The agent of the embedded Ironic's nodes. */
export const IRONIC_HOST = "ironic1";

/** The component that all agents join. */
export const CONTROL_PLANE = "control-plane";

/** A deployment of several releases: newer agents refuse it unless an option says that it is meant (spec 1.2). */
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];

/** The hosts of the cluster file, or `devstack1` to `devstackN`, one for each release where releases are asked for. */
export function hostsOf({ releases, hosts, named }: UpOptions): readonly string[] {
  return named !== undefined
    ? [...named.keys()]
    : Array.from({ length: releases?.length ?? hosts }, (_, index) => `devstack${index + 1}`);
}

/**
 * What each component has of its own: what is asked for now, else what it came up with before.
 * @param absolute makes paths absolute
 */
export function settingsOf(
  options: UpOptions,
  kept: HostSettings,
  absolute: (path: string) => string,
): ReadonlyMap<string, HostSetting> {
  if (options.named !== undefined) {
    // The file says all of it.
    const configFiles = options.configFile.map(absolute);
    return new Map([
      [CONTROL_PLANE, { configFiles }],
      ...options.named,
      ...(options.ironic > 0 ? [[IRONIC_HOST, { configFiles }] as const] : []),
    ]);
  }
  const given = options.driver && isPath(options.driver) ? absolute(options.driver) : options.driver;
  const settingOf = (name: string, driver: string | undefined, release?: Release): [string, HostSetting] => {
    const { configFile } = options;
    const configFiles = configFile.length > 0 ? configFile.map(absolute) : (kept[name]?.configFiles ?? []);
    const { options: own, added } = kept[name] ?? {};
    const more = { ...(own === undefined ? {} : { options: own }), ...(added === undefined ? {} : { added }) };
    return [
      name,
      {
        ...(driver === undefined ? {} : { driver }),
        configFiles,
        ...more,
        ...(release === undefined ? {} : { release }),
      },
    ];
  };
  const counted = hostsOf(options);
  const isCounted = new Set(counted);
  const added = Object.entries(kept).filter(([host, setting]) => setting.added === true && !isCounted.has(host));
  return new Map([
    settingOf(CONTROL_PLANE, undefined),
    ...counted.map((host, at) => settingOf(host, given ?? kept[host]?.driver, options.releases?.[at])),
    // These have what they were added with.
    ...added,
    // It has the driver that its own nova.conf names.
    ...(options.ironic > 0 ? [settingOf(IRONIC_HOST, undefined)] : []),
  ]);
}

export const isPath = (driver: string): boolean => /^\.{0,2}\//.test(driver);

/** Flags that stand for what a host has of its own. */
export function hostArguments({ driver, configFiles, options = [] }: HostSetting): readonly string[] {
  return [
    ...flag("--compute-driver", driver),
    ...configFiles.flatMap((file) => ["--config-file", file]),
    ...options.flatMap((option) => ["-o", option]),
  ];
}

/** What the agent of a host is started with, besides its host and the state directory. */
function agentStart(
  host: string,
  setting: HostSetting,
  place: { readonly options: UpOptions; readonly directory: StateDir; readonly mixed: boolean },
): Omit<HostGroup, "hosts"> {
  const { options, directory, mixed } = place;
  const isIronic = host === IRONIC_HOST;
  const args = [
    ...agentArguments(options),
    ...hostArguments(setting),
    ...(setting.driver === undefined ? [] : ["--trace-driver"]),
    ...(isIronic ? ["--config-file", directory.ironicConfig] : []),
    ...flag("--release", setting.release),
    ...(mixed ? MIXED : []),
  ];
  return { args, driver: isIronic ? "ironic" : (setting.driver ?? null) };
}

/** Agents of several releases may be together. */
function hasReleases({ releases, named }: UpOptions): boolean {
  return releases !== undefined || [...(named?.values() ?? [])].some(({ release }) => release !== undefined);
}

/** What every agent is started with. */
export function agentArguments(options: UpOptions): readonly string[] {
  const { allowResizeToSameHost, reclaimInstanceInterval, changeDriver, logFormat } = options;
  return [
    ...(changeDriver ? ["--change-driver"] : []),
    ...(allowResizeToSameHost ? ["-o", "allow_resize_to_same_host=true"] : []),
    ...flag("--log-format", logFormat),
    ...flag("-o", reclaimInstanceInterval && `reclaim_instance_interval=${reclaimInstanceInterval}`),
  ];
}

/** The arguments of an agent that `compute-cluster host add` starts. */
export function additionArguments({ driver, configFiles, options = [] }: HostSetting): readonly string[] {
  return [...flag("--driver", driver), ...hostArguments({ configFiles, options })];
}

/** The processes of hosts that are started beside those that there are. */
export function morePlans(
  hosts: ReadonlyMap<string, HostSetting>,
  place: {
    readonly options: UpOptions;
    readonly directory: StateDir;
    readonly supervisor: Pick<Supervisor, "statuses">;
    readonly cores: number;
  },
): readonly AgentPlan[] {
  const start = { ...place, mixed: hasReleases(place.options) };
  const groups = groupsOf([...hosts].map(([host, setting]) => [host, agentStart(host, setting, start)] as const));
  const taken = new Set([...hosts.keys(), ...place.supervisor.statuses.map(({ name }) => name)]);
  return agentPlans(groups, sharingOf(place.options, place.cores), taken);
}

function sharingOf({ releases, processes, hostsPerProcess }: UpOptions, cores: number): Sharing {
  return {
    cores,
    ...(processes === undefined ? {} : { processes }),
    ...(hostsPerProcess === undefined ? {} : { hostsPerProcess }),
    // One after the other is started, each of another release.
    ...(releases === undefined ? {} : { hostsPerProcess: 1 }),
  };
}

/** Which processes there are, and what each is started with. */
export function upChildren(
  options: UpOptions,
  directory: StateDir,
  settings: ReadonlyMap<string, HostSetting>,
  cores: number,
): Pick<SupervisorOptions, "agents" | "inOrder" | "controlPlaneArgs"> {
  const { port, ironic } = options;
  const own = (name: string) => hostArguments(settings.get(name) ?? { configFiles: [] });
  const hosts = [...settings].filter(([name]) => name !== CONTROL_PLANE);
  const mixed = hasReleases(options);
  const groups = groupsOf(
    hosts.map(([host, setting]) => [host, agentStart(host, setting, { options, directory, mixed })] as const),
  );
  return {
    agents: agentPlans(groups, sharingOf(options, cores), new Set(settings.keys())),
    inOrder: mixed,
    controlPlaneArgs: [
      ...own(CONTROL_PLANE),
      ...flag("--port", port?.toString()),
      ...(options.allowResizeToSameHost ? ["--allow-resize-to-same-host"] : []),
      ...(mixed ? ["--disable-compute-service-check-for-ffu"] : []),
      ...flag("--reclaim-instance-interval", options.reclaimInstanceInterval),
      ...flag("--service-delete-policy", options.serviceDeletePolicy),
      ...(options.logRequests ? ["--log-requests"] : []),
      ...flag("--log-format", options.logFormat),
      ...(ironic > 0 ? ["--ironic", String(ironic)] : []),
      ...listenArguments(options),
    ],
  };
}

const flag = (name: string, value: string | undefined): readonly string[] => (value === undefined ? [] : [name, value]);
