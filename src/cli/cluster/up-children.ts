import type { AgentPlan } from "../../control-plane/local/agent-process.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Supervisor, SupervisorOptions } from "../../control-plane/local/supervisor.js";
import { RELEASES, type Release, SERVICE_VERSION } from "../../records/index.js";
import { groupBy } from "../../runtime/collections.js";
import { CONTROL_PLANE, type HostSetting, type HostSettings } from "./host-settings.js";
import { type ListenFlags, listenArguments } from "./listen.js";

/** Hosts that are started with the same arguments. */
interface HostGroup {
  readonly hosts: readonly string[];
  readonly args: readonly string[];
  readonly driver: string | null;
}

/** @internal */
export interface Sharing {
  readonly processes?: number;
  readonly hostsPerProcess?: number;
  /** Processor cores of the machine. */
  readonly cores: number;
}

/** Up to this number, hosts have a process each by default. */
const FEW = 8;

export interface UpOptions extends ListenFlags {
  /** Number of hosts. Default: the existing hosts; {@link DEFAULT_HOSTS} for a new cluster. */
  readonly hosts?: number;
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
  /** Number of bare-metal nodes. Default: the agent of the nodes exists as before. */
  readonly ironic?: number;
  readonly driver?: string;
  readonly changeDriver?: true;
  readonly logRequests?: true;
  readonly logFormat?: "pretty" | "json";
  /** The hosts of a cluster file with their settings, oldest release first; used instead of `hosts` and `releases`. */
  readonly named?: ReadonlyMap<string, HostSetting>;
}

/** The host whose agent manages the nodes of the embedded Ironic. */
export const IRONIC_HOST = "ironic1";

/** Allows several releases in one deployment; otherwise newer agents reject it (spec 1.2). */
const MIXED = ["-o", "workarounds.disable_compute_service_check_for_ffu=true"];

/** Default number of hosts of a new cluster. */
export const DEFAULT_HOSTS = 3;

/** The hosts of a start: requested by number or release, or the existing ones. */
interface HostsToStart {
  /** Without the hosts of `host add`, which each start includes. */
  readonly hosts: readonly string[];
  readonly hasIronic: boolean;
  /** No hosts were requested, so the existing ones start with their last settings. */
  readonly isContinued: boolean;
}

function hostsToStart({ releases, hosts, ironic }: UpOptions, savedSettings: HostSettings): HostsToStart {
  const known = Object.keys(savedSettings).filter((host) => host !== CONTROL_PLANE);
  // An interrupted start has started fewer hosts than requested. Older versions did not record the hosts of a start.
  const last = savedSettings[CONTROL_PLANE]?.hosts ?? (known.length === 0 ? undefined : known);
  const isContinued = releases === undefined && hosts === undefined && last !== undefined;
  if (!isContinued) {
    const count = releases?.length ?? hosts ?? DEFAULT_HOSTS;
    const names = Array.from({ length: count }, (_, index) => `devstack${index + 1}`);
    return { hosts: names, hasIronic: (ironic ?? 0) > 0, isContinued };
  }
  const versionOf = (host: string): number => {
    const { release } = savedSettings[host] ?? {};
    return release === undefined ? SERVICE_VERSION : RELEASES[release];
  };
  return {
    hosts: last
      .filter((host) => host !== IRONIC_HOST && savedSettings[host]?.added !== true)
      .toSorted((one, other) => versionOf(one) - versionOf(other)),
    hasIronic: ironic === undefined ? last.includes(IRONIC_HOST) : ironic > 0,
    isContinued,
  };
}

/**
 * Returns the settings of each component: the requested ones, else those of its last start.
 * @param absolute makes paths absolute
 */
export function settingsOf(
  options: UpOptions,
  savedSettings: HostSettings,
  absolute: (path: string) => string,
): ReadonlyMap<string, HostSetting> {
  if (options.named !== undefined) {
    // The file has all settings.
    const configFiles = options.configFile.map(absolute);
    const agents = new Map(options.named);
    if ((options.ironic ?? 0) > 0) {
      agents.set(IRONIC_HOST, { configFiles });
    }
    return new Map<string, HostSetting>([[CONTROL_PLANE, { configFiles, hosts: [...agents.keys()] }], ...agents]);
  }
  const resolvedDriver = options.driver && isPath(options.driver) ? absolute(options.driver) : options.driver;
  const settingOf = (name: string, driver: string | undefined, release?: Release): [string, HostSetting] => {
    const { configFile } = options;
    const configFiles = configFile.length > 0 ? configFile.map(absolute) : (savedSettings[name]?.configFiles ?? []);
    const { options: own, added } = savedSettings[name] ?? {};
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
  const { hosts: counted, hasIronic, isContinued } = hostsToStart(options, savedSettings);
  const isCounted = new Set(counted);
  const releaseOf = (host: string, at: number) =>
    options.releases?.[at] ?? (isContinued ? savedSettings[host]?.release : undefined);
  const [, controlPlane] = settingOf(CONTROL_PLANE, undefined);
  const added = Object.entries(savedSettings).filter(
    ([host, setting]) => setting.added === true && !isCounted.has(host),
  );
  return new Map([
    [CONTROL_PLANE, { ...controlPlane, hosts: [...counted, ...(hasIronic ? [IRONIC_HOST] : [])] }],
    ...counted.map((host, at) => settingOf(host, resolvedDriver ?? savedSettings[host]?.driver, releaseOf(host, at))),
    // These start with the settings that they were added with.
    ...added,
    // Its driver is that of its own nova.conf.
    ...(hasIronic ? [settingOf(IRONIC_HOST, undefined)] : []),
  ]);
}

export const isPath = (driver: string): boolean => /^\.{0,2}\//.test(driver);

/** Returns a host's own settings as flags of the agent. */
export function hostArguments({ driver, configFiles, options = [] }: HostSetting): readonly string[] {
  return [
    ...flag("--compute-driver", driver),
    ...configFiles.flatMap((file) => ["--config-file", file]),
    ...options.flatMap((option) => ["-o", option]),
  ];
}

/** Returns the arguments of a host's agent, besides the host and the state directory. */
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

/** Returns whether agents of several releases may exist. */
function hasReleases(settings: ReadonlyMap<string, HostSetting>): boolean {
  return [...settings.values()].some(({ release }) => release !== undefined);
}

/** Returns the arguments of every agent. */
export function agentArguments(options: UpOptions): readonly string[] {
  const { allowResizeToSameHost, reclaimInstanceInterval, changeDriver, logFormat } = options;
  return [
    ...(changeDriver ? ["--change-driver"] : []),
    ...(allowResizeToSameHost ? ["-o", "allow_resize_to_same_host=true"] : []),
    ...flag("--log-format", logFormat),
    ...flag("-o", reclaimInstanceInterval && `reclaim_instance_interval=${reclaimInstanceInterval}`),
  ];
}

/** Returns the arguments of `compute-agent host add` for a host with this setting. */
export function additionArguments({ driver, configFiles, options = [] }: HostSetting): readonly string[] {
  return [...flag("--driver", driver), ...hostArguments({ configFiles, options })];
}

/** Plans the processes of hosts that are added to running ones. */
export function morePlans(
  hosts: ReadonlyMap<string, HostSetting>,
  place: {
    readonly options: UpOptions;
    /** The settings of the running hosts. */
    readonly settings: ReadonlyMap<string, HostSetting>;
    readonly directory: StateDir;
    readonly supervisor: Pick<Supervisor, "statuses">;
    readonly cores: number;
  },
): readonly AgentPlan[] {
  const start = { ...place, mixed: hasReleases(place.settings) };
  const groups = groupsOf([...hosts].map(([host, setting]) => [host, agentStart(host, setting, start)] as const));
  const taken = new Set([...hosts.keys(), ...place.supervisor.statuses.map(({ name }) => name)]);
  return agentPlans(groups, sharingOf(place.options, place.cores), taken);
}

function sharingOf({ releases, processes, hostsPerProcess }: UpOptions, cores: number): Sharing {
  return {
    cores,
    ...(processes === undefined ? {} : { processes }),
    ...(hostsPerProcess === undefined ? {} : { hostsPerProcess }),
    // Started one by one, each of another release.
    ...(releases === undefined ? {} : { hostsPerProcess: 1 }),
  };
}

/** Plans the agent processes, with the arguments of each component. */
export function upChildren(
  options: UpOptions,
  directory: StateDir,
  settings: ReadonlyMap<string, HostSetting>,
  cores: number,
): Pick<SupervisorOptions, "agents" | "inOrder" | "controlPlaneArgs"> {
  const { port, ironic = 0 } = options;
  const own = (name: string) => hostArguments(settings.get(name) ?? { configFiles: [] });
  const hosts = [...settings].filter(([name]) => name !== CONTROL_PLANE);
  const mixed = hasReleases(settings);
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

/**
 * Plans the processes that serve these hosts. Hosts with different arguments never share a process; those that share one are
 * neighbours in their group.
 * @param taken names that a pool must not use, since its log file is named after it
 * @internal
 */
export function agentPlans(
  groups: readonly HostGroup[],
  sharing: Sharing,
  taken: ReadonlySet<string>,
): readonly AgentPlan[] {
  const total = groups.reduce((sum, { hosts }) => sum + hosts.length, 0);
  const most = mostPerProcess(total, sharing);
  let last = 0;
  const nextPool = (): string => {
    do {
      last += 1;
    } while (taken.has(`pool-${last}`));
    return `pool-${last}`;
  };
  return groups.flatMap(({ hosts, args, driver }) =>
    slices(hosts, Math.ceil(hosts.length / most)).map((slice): AgentPlan => {
      const [first] = slice;
      return { name: slice.length === 1 && first !== undefined ? first : nextPool(), hosts: slice, args, driver };
    }),
  );
}

function mostPerProcess(total: number, { processes, hostsPerProcess, cores }: Sharing): number {
  if (hostsPerProcess !== undefined) {
    return hostsPerProcess;
  }
  return processes === undefined && total <= FEW ? 1 : Math.max(1, Math.ceil(total / (processes ?? cores)));
}

/** Splits a list into `count` slices of almost equal length. */
function slices<T>(all: readonly T[], count: number): (readonly T[])[] {
  return Array.from({ length: count }, (_none, index) =>
    all.slice(Math.floor((index * all.length) / count), Math.floor(((index + 1) * all.length) / count)),
  );
}

/** Groups hosts by their start arguments, in the original order. @internal */
export function groupsOf(
  hosts: Iterable<readonly [host: string, start: Omit<HostGroup, "hosts">]>,
): readonly HostGroup[] {
  const groups = groupBy(hosts, ([, { args }]) => JSON.stringify(args));
  return [...groups.values()].map((group) => {
    const [[, start]] = group as [(typeof group)[number]];
    return { ...start, hosts: group.map(([host]) => host) };
  });
}
