import { IRONIC_FAULTS } from "../../../control-plane/bare-metal/provision-states.js";
import { hostsWithState, type StateDir } from "../../../control-plane/local/state-dir.js";
import { type Change, fieldChanges } from "../../../control-plane/seed/change.js";
import { applySeed, type Seed, type SeedPlace, seedSteps, withSeedStore } from "../../../control-plane/seed/seed.js";
import type { ImageBytes } from "../../../control-plane/seed/seed-images.js";
import { nodeDigests } from "../../../runtime/node/node-cryptography.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { mapConcurrently } from "../../../runtime/task-queue.js";
import { AGENT_FAULTS } from "../../agent/agent-faults.js";
import type { Terminal } from "../../ui/terminal.js";
import { withRuntime } from "../cluster-command.js";
import { readStartOptions } from "../control-plane-config.js";
import type { HostSettings } from "../host-settings.js";
import {
  agree,
  type DesiredFaults,
  type FileFlags,
  faultChanges,
  hostChanges,
  missingFaults,
  setMissing,
} from "./cluster-changes.js";
import { type ProviderConfigFile, writeProviderConfig } from "./group-options.js";
import type { ClusterDescription } from "./read-cluster-file.js";
import { flagsOf, readSavedFlags, type SavedFlags } from "./up-flags.js";

export interface PrepareOptions extends Pick<FileFlags, "check" | "yes"> {
  readonly directory: StateDir;
  /** The settings that hosts were started with, including their recorded drivers. */
  readonly before: HostSettings;
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
}

/**
 * Prints what a start with the file changes, and does what must happen before the start. If it is killed in between, the
 * next call does the rest.
 * @returns an exit code to end with; undefined to continue
 * @throws {CommandError} `SeedRefused` {@link DatabaseUnusable}
 */
export function prepareCluster(described: ClusterDescription, place: PrepareOptions): Promise<number | undefined> {
  return withRuntime((runtime) => prepare(described, place, runtime));
}

async function prepare(
  described: ClusterDescription,
  place: PrepareOptions,
  runtime: Runtime,
): Promise<number | undefined> {
  const { options, groups = [], path } = described;
  const { before, directory } = place;
  const started = new Set(await hostsWithState(runtime.files, directory));
  const missing = await missingFaults(listDesiredFaults(described, directory, started), runtime);
  const seed = await seedOf(described, place, runtime);
  const seedPlace: SeedPlace = { runtime, digests: nodeDigests, directory };
  const flags = flagChanges(await readSavedFlags(directory, runtime.files), flagsOf(options));
  // The store stays locked between confirmation and change, so exactly the confirmed changes are applied.
  return withSeedStore(seedPlace, place.check === true ? "read" : "write", async (parts) => {
    const servers = parts.store.instances.countsByHost();
    const hosts = options.named === undefined ? [] : hostChanges(before, options.named, options, servers);
    const steps = seedSteps(parts, seed, seedPlace);
    const end = await agree(path, [...flags, ...hosts, ...steps, ...faultChanges(missing)], place, place);
    if (end !== undefined) {
      return end;
    }
    for (const config of configsOf(groups).values()) {
      await writeProviderConfig(config, runtime.files);
    }
    await setMissing(missing, runtime);
    await applySeed(parts, steps);
    return undefined;
  });
}

function configsOf(groups: NonNullable<ClusterDescription["groups"]>): ReadonlyMap<string, ProviderConfigFile> {
  return new Map(
    groups.flatMap(({ providerConfig: config }) => (config === undefined ? [] : [[config.folder, config] as const])),
  );
}

/** Returns changes of the cluster's own flags; none before the first start, where the changes of hosts are sufficient. */
function flagChanges(before: SavedFlags | undefined, now: SavedFlags): readonly Change[] {
  const what = before === undefined ? [] : fieldChanges(before, now);
  return what.map((text) => ({ sign: "~", text, destroys: false }));
}

/** @param started hosts with a folder; faults of other hosts cannot be set yet */
function listDesiredFaults(
  { groups = [], file }: ClusterDescription,
  directory: StateDir,
  started: ReadonlySet<string>,
): readonly DesiredFaults[] {
  const { faults = [] } = file.ironic ?? {};
  return [
    { host: "ironic", folder: directory.ironic, table: IRONIC_FAULTS, faultRules: faults, isNew: false },
    ...groups.flatMap((group) =>
      group.faults.length === 0
        ? []
        : group.hosts.map((host) => ({
            host,
            folder: directory.agent(host),
            table: AGENT_FAULTS,
            faultRules: group.faults,
            isNew: !started.has(host),
          })),
    ),
  ];
}

async function seedOf(
  described: ClusterDescription,
  place: Pick<PrepareOptions, "directory">,
  runtime: Runtime,
): Promise<Seed> {
  const { file, groups, imageFiles, options } = described;
  const bytes = await mapConcurrently([...imageFiles], 1, async ([name, path]) => {
    const read = () => runtime.files.readBytes(path);
    const digest = nodeDigests.running("sha512");
    for await (const part of await read()) {
      digest.update(part);
    }
    return [name, { hash: digest.hex(), read }] as readonly [string, ImageBytes];
  });
  return {
    flavors: file.flavors,
    images: file.images,
    imageBytes: new Map(bytes),
    aggregates: file.aggregates === undefined && groups === undefined ? undefined : aggregatesOf(file, groups ?? []),
    projects: file.projects,
    users: file.users,
    ...(await servicesOf(described, place.directory, runtime)),
    ironicNodes: options.ironic ?? 0,
  };
}

/** Returns what the file has of networks and volumes, with the options that decide what is there before. */
async function servicesOf(
  { file, options }: ClusterDescription,
  { root }: StateDir,
  runtime: Runtime,
): Promise<Partial<Seed>> {
  const { networks, routers, security_groups: securityGroups, floating_ips: floatingIps } = file;
  const { volume_types: types, volumes } = file;
  const hasNetworks = [networks, routers, securityGroups, floatingIps].some((list) => list !== undefined);
  const hasVolumes = types !== undefined || volumes !== undefined;
  if (!hasNetworks && !hasVolumes) {
    return {};
  }
  return {
    ...(await readStartOptions(options.configFile, { runtime, stateDir: root })),
    ...(hasNetworks && { networks: { networks, routers, securityGroups, floatingIps } }),
    ...(hasVolumes && { volumes: { types, volumes } }),
  };
}

function aggregatesOf(
  file: ClusterDescription["file"],
  groups: NonNullable<ClusterDescription["groups"]>,
): NonNullable<Seed["aggregates"]> {
  const members = new Map<string, Set<string>>();
  const known = new Set<string>();
  for (const { hosts, aggregates } of groups) {
    for (const name of aggregates) {
      const set = members.get(name) ?? new Set();
      hosts.forEach((host) => void set.add(host));
      members.set(name, set);
    }
    hosts.forEach((host) => void known.add(host));
  }
  const declared = new Set((file.aggregates ?? []).map(({ name }) => name));
  // A zone that is not an aggregate of the file gets an aggregate of its name.
  const zones = [...members.keys()].filter((name) => !declared.has(name));
  return {
    aggregates: [...(file.aggregates ?? []), ...zones.map((name) => ({ name, availability_zone: name }))],
    complete: file.aggregates !== undefined,
    members,
    known,
  };
}
