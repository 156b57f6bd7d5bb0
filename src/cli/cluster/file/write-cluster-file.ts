import { stringify } from "yaml";
import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/provision-states.js";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import { exportSeed, ironicNodes, type SeedPlace, withSeedStore } from "../../../control-plane/seed/seed.js";
import { readFaults } from "../../../faults/fault-file.js";
import { type FaultTable, formatFaultRule } from "../../../faults/faults.js";
import { foldHosts } from "../../../records/host-names.js";
import { append, groupBy } from "../../../runtime/collections.js";
import type { Files } from "../../../runtime/files.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import type { DriverDefinition } from "../../../virt/driver.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import { BUILT_IN_DRIVERS } from "../../agent/built-in-drivers.js";
import { CONTROL_PLANE, type HostSetting, type HostSettings } from "../host-settings.js";
import { IRONIC_HOST } from "../up-children.js";
import type { ClusterFile, GroupText } from "./cluster-file.js";
import { keysOfOptions, readProviderConfig } from "./group-options.js";
import { readSavedFlags } from "./up-flags.js";

/** Maximum number of fault files that are read concurrently. */
const AT_A_TIME = 32;

/**
 * Returns the file of an existing cluster, running or not; a start with it changes nothing.
 * @param savedSettings the settings that its hosts were started with
 */
export async function clusterFileOf(place: SeedPlace, savedSettings: HostSettings): Promise<ClusterFile> {
  const { directory, runtime } = place;
  const { files } = runtime;
  const flags = (await readSavedFlags(directory, files)) ?? {};
  const { seedSections, nodes, members } = await withSeedStore(place, "read", async (parts) => ({
    seedSections: exportSeed(parts, place),
    nodes: ironicNodes(parts.store),
    members: membersOf(parts.store.aggregates.list()),
  }));
  const controlPlane = savedSettings[CONTROL_PLANE]?.configFiles ?? [];
  // The settings are in the order in which the hosts were started.
  const hosts = Object.keys(savedSettings)
    .filter((host) => host !== CONTROL_PLANE && host !== IRONIC_HOST)
    .sort(new Intl.Collator("en", { numeric: true }).compare);
  const faults = new Map(
    await mapConcurrently(
      hosts,
      AT_A_TIME,
      async (host) => [host, await readFaultRules(directory.agent(host), AGENT_FAULTS, files)] as const,
    ),
  );
  const ironicFaults = await readFaultRules(directory.ironic, IRONIC_FAULTS, files);
  const described = hosts.map((host) => {
    const { added: _added, ...setting } = savedSettings[host] ?? { configFiles: [] };
    return { host, setting, aggregates: members.get(host) ?? [], faults: faults.get(host) ?? [] };
  });
  const alike = groupBy(
    described,
    ({ setting: { driver, configFiles, options, release }, aggregates, faults: rules }) =>
      JSON.stringify([driver, configFiles, options, release, aggregates, rules]),
  );
  const sections = await driverSections(described.map(({ setting }) => setting.driver));
  const groups = await mapConcurrently([...alike.values()], 1, (group) =>
    groupText(group, { sections, controlPlane, directory, files }),
  );
  const isIronic = savedSettings[IRONIC_HOST] !== undefined && nodes > 0;
  const { flavors, ...others } = seedSections;
  return {
    ...flags,
    ...(controlPlane.length === 0 ? {} : { config_files: [...controlPlane] }),
    hosts: groups,
    ...(isIronic ? { ironic: { nodes, ...(ironicFaults.length === 0 ? {} : { faults: ironicFaults }) } } : {}),
    // If the key is absent, a next start creates devstack's flavors.
    ...(flavors.length === 0 ? {} : { flavors }),
    ...others,
  };
}

export function clusterFileText(file: ClusterFile): string {
  return stringify(file, { lineWidth: 0, aliasDuplicateObjects: false });
}

interface DescribedHost {
  readonly host: string;
  readonly setting: HostSetting;
  readonly aggregates: readonly string[];
  readonly faults: readonly string[];
}

function membersOf(aggregates: readonly { readonly name: string; readonly hosts: readonly string[] }[]) {
  const members = new Map<string, string[]>();
  for (const { name, hosts } of aggregates) {
    for (const host of hosts) {
      append(members, host, name);
    }
  }
  return members;
}

async function readFaultRules(folder: string, table: FaultTable, files: Files): Promise<string[]> {
  return (await readFaults(folder, table, { files })).map(formatFaultRule);
}

/** Returns the configuration sections of the built-in drivers among these, by driver. */
async function driverSections(drivers: readonly (string | undefined)[]): Promise<ReadonlyMap<string, string>> {
  const named = new Set(["fake-libvirt", ...drivers]);
  const found = new Map<string, string>();
  for (const [name, load] of Object.entries(BUILT_IN_DRIVERS)) {
    const { driver } = named.has(name) ? ((await load()) as { readonly driver: DriverDefinition }) : {};
    if (driver?.configSchema !== undefined) {
      found.set(name, driver.configSchema.section);
    }
  }
  return found;
}

/** @param hosts that differ only by their names */
async function groupText(
  hosts: readonly DescribedHost[],
  place: {
    readonly sections: ReadonlyMap<string, string>;
    readonly controlPlane: readonly string[];
    readonly directory: StateDir;
    readonly files: Files;
  },
): Promise<GroupText> {
  const [
    {
      setting: { driver, configFiles, options = [], release },
      aggregates,
      faults,
    },
  ] = hosts as [DescribedHost];
  const { keys, others } = await readProviderConfig(options, place.directory, place.files);
  const isSame = JSON.stringify(configFiles) === JSON.stringify(place.controlPlane);
  return {
    name: foldHosts(hosts.map(({ host }) => host)),
    ...(driver === undefined ? {} : { driver }),
    ...(release === undefined ? {} : { release }),
    ...(isSame ? {} : { config_files: [...configFiles] }),
    ...keysOfOptions(others, place.sections.get(driver ?? "fake-libvirt")),
    ...keys,
    ...(aggregates.length === 0 ? {} : { aggregates: [...aggregates] }),
    ...(faults.length === 0 ? {} : { faults: [...faults] }),
  };
}
