import { resolve } from "node:path";
import { NOVA_OPTIONS } from "../../../config/nova-config.js";
import type { SectionTable } from "../../../config/option.js";
import { InvalidFault, parseFaultRule } from "../../../faults/faults.js";
import { expandHosts, HostRangeError, MAX_HOSTS } from "../../../records/host-names.js";
import { RELEASES } from "../../../records/index.js";
import type { Digests } from "../../../runtime/cryptography.js";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { DriverDefinition } from "../../../virt/driver.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import { BUILT_IN_DRIVERS, optionsOf } from "../../agent/built-in-drivers.js";
import { CONTROL_PLANE, type HostSetting } from "../host-settings.js";
import { IRONIC_HOST, isPath } from "../up-children.js";
import type { ClusterFile, GroupText } from "./cluster-file.js";
import { locationOption, optionsOfGroup, type ProviderConfigFile, providerConfigOf } from "./group-options.js";
import type { Problem, TextPart } from "./yaml-file.js";

/** Hosts with the same settings, as their agents are started. */
export interface HostsOfGroup {
  readonly hosts: readonly string[];
  readonly setting: HostSetting;
  readonly aggregates: readonly string[];
  readonly faults: readonly string[];
  readonly providerConfig: ProviderConfigFile | undefined;
}

export interface GroupPlace {
  /** The folder of the cluster file; its paths are relative to this. */
  readonly folder: string;
  /** The state directory. */
  readonly root: string;
  readonly digests: Pick<Digests, "sha256">;
  /** The default for groups without a driver; a path is absolute. */
  readonly driver: string | undefined;
  /** The default for groups without configuration files; absolute paths. */
  readonly configFiles: readonly string[];
}

/** Reports a problem at a path of the file. */
type Complain = (path: readonly (string | number)[], text: string, ofKey?: boolean) => void;

/**
 * Reads the groups of a file, oldest release first, since newer agents must not start before older ones. Adds problems to
 * the list.
 */
export async function readGroups(
  file: ClusterFile,
  text: TextPart,
  place: GroupPlace,
  problems: Problem[],
): Promise<readonly HostsOfGroup[] | undefined> {
  if (file.hosts === undefined) {
    return undefined;
  }
  const complain: Complain = (path, message, ofKey) => {
    problems.push({ ...text.place(path, ofKey), text: message });
  };
  const drivers = await driverOptions([place.driver, ...file.hosts.map(({ driver }) => driver)]);
  const owners = new Map<string, number>();
  const zones = new Map((file.aggregates ?? []).map((one) => [one.name, one.availability_zone]));
  const groups = file.hosts.map((group, index): HostsOfGroup => {
    const below: Complain = (path, message, ofKey) => complain(["hosts", index, ...path], message, ofKey);
    const hosts = hostsOfGroup(group, below);
    for (const host of hosts) {
      reportTaken(host, index, owners, file, below);
    }
    const driver = group.driver ?? place.driver;
    const sections = drivers.get(driver ?? DEFAULT_DRIVER);
    const near = group.driver === undefined || sections !== undefined ? undefined : didYouMean(group.driver, BUILT_INS);
    if (near !== undefined) {
      below(["driver"], `there is no driver ${driver}; did you mean ${near}?`);
      return NOBODY;
    }
    const known = { ...NOVA_OPTIONS, ...sections };
    const options = optionsOfGroup(group, { driver: driver ?? DEFAULT_DRIVER, sections }, known, (path, message) =>
      below(path, message, true),
    );
    checkFaults(group, below);
    const providerConfig = providerConfigOf(group, place, place.digests);
    return {
      hosts,
      setting: settingOf(group, [...options, ...(providerConfig ? [locationOption(providerConfig)] : [])], place),
      aggregates: aggregatesOf(group, zones, below),
      faults: group.faults ?? [],
      providerConfig,
    };
  });
  if (owners.size > MAX_HOSTS) {
    complain(["hosts"], `found ${owners.size} hosts, expected at most ${MAX_HOSTS}`, true);
  }
  const ageOf = ({ setting: { release } }: HostsOfGroup) =>
    release === undefined ? RELEASES.master : RELEASES[release];
  return groups.toSorted((one, other) => ageOf(one) - ageOf(other));
}

const DEFAULT_DRIVER = "fake-libvirt";
const BUILT_INS = Object.keys(BUILT_IN_DRIVERS);

const NOBODY: HostsOfGroup = {
  hosts: [],
  setting: { configFiles: [] },
  aggregates: [],
  faults: [],
  providerConfig: undefined,
};

/** Returns the options of the built-in drivers that the file names. */
async function driverOptions(names: readonly (string | undefined)[]): Promise<ReadonlyMap<string, SectionTable>> {
  const named = new Set([DEFAULT_DRIVER, ...names]);
  const found = new Map<string, SectionTable>();
  for (const [name, load] of Object.entries(BUILT_IN_DRIVERS)) {
    if (named.has(name)) {
      found.set(name, optionsOf(((await load()) as { readonly driver: DriverDefinition }).driver));
    }
  }
  return found;
}

function hostsOfGroup({ name, count }: GroupText, below: Complain): readonly string[] {
  try {
    const isPattern = /[[,]/.test(name);
    if (count === 0) {
      return [];
    }
    const names = expandHosts(count === undefined || isPattern ? name : `${name}[1-${count}]`);
    if (count === undefined) {
      return names;
    }
    if (names.length < count) {
      below(["count"], `found ${count}, expected at most ${names.length}: the number of names in ${name}`);
    }
    return names.slice(0, count);
  } catch (error) {
    if (!(error instanceof HostRangeError)) {
      throw error;
    }
    below(["name"], error.message);
    return [];
  }
}

function reportTaken(
  host: string,
  index: number,
  owners: Map<string, number>,
  { ironic }: ClusterFile,
  below: Complain,
): void {
  const owner = owners.get(host);
  if (owner !== undefined) {
    below(["name"], `host ${host} is also in hosts.${owner}; a host must be in one group only`);
  }
  const isOurs = host === CONTROL_PLANE || (host === IRONIC_HOST && (ironic?.nodes ?? 0) > 0);
  if (isOurs) {
    below(["name"], `${host} is the name of a component of up; choose another name`);
  }
  owners.set(host, owner ?? index);
}

function checkFaults({ faults = [] }: GroupText, below: Complain): void {
  faults.forEach((faultRule, at) => {
    try {
      parseFaultRule(faultRule, AGENT_FAULTS);
    } catch (error) {
      if (!(error instanceof InvalidFault)) {
        throw error;
      }
      below(["faults", at], inOneLine(error.message));
    }
  });
}

/** Removes the list of existing points from a message. */
export function inOneLine(message: string): string {
  return message.replace(/ Those that exist:[\s\S]*/, " compute-agent fault points lists all");
}

function aggregatesOf(
  { aggregates = [], availability_zone: zone }: GroupText,
  zones: ReadonlyMap<string, string | undefined>,
  below: Complain,
): readonly string[] {
  aggregates.forEach((name, at) => {
    if (!zones.has(name)) {
      const near = didYouMean(name, zones.keys());
      const help = near === undefined ? "add it to aggregates" : `did you mean ${near}?`;
      below(["aggregates", at], `there is no aggregate ${name}; ${help}`);
    }
  });
  const all = new Set([...aggregates, ...(zone === undefined ? [] : [zone])]);
  const theirs = new Set([...all].flatMap((name) => zones.get(name) ?? (name === zone ? [zone] : [])));
  if (theirs.size > 1) {
    below(
      [zone === undefined ? "aggregates" : "availability_zone"],
      `a host must be in one zone only: found ${[...theirs].join(", ")}`,
    );
  }
  if (zone !== undefined && zones.has(zone) && zones.get(zone) !== zone) {
    below(
      ["availability_zone"],
      `aggregate ${zone} has ${zones.get(zone) ?? "no zone"}; name another aggregate instead`,
    );
  }
  return [...all];
}

function settingOf(group: GroupText, options: readonly string[], place: GroupPlace): HostSetting {
  const { folder } = place;
  const driver = group.driver ?? place.driver;
  return {
    ...(driver === undefined ? {} : { driver: isPath(driver) ? resolve(folder, driver) : driver }),
    configFiles: group.config_files?.map((path) => resolve(folder, path)) ?? place.configFiles,
    ...(options.length === 0 ? {} : { options }),
    ...(group.release === undefined ? {} : { release: group.release }),
  };
}
