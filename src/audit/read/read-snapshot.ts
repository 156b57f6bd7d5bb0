import { mapConcurrently } from "../../runtime/task-queue.js";
import type { Clock } from "../../runtime/time.js";
import type { Cloud } from "../cloud/open-cloud.js";
import type { ServiceClient } from "../cloud/service-client.js";
import {
  findServer,
  MIGRATION_UUIDS,
  readHypervisors,
  readMigrations,
  readServers,
  readServices,
} from "./read-compute.js";
import { readPorts, readPortsAgain } from "./read-network.js";
import {
  CONCURRENCY,
  listProviders,
  mapWithProgress,
  readConsumer,
  readProvider,
  readProviders,
} from "./read-placement.js";
import { readVolumes, readVolumesAgain } from "./read-volumes.js";
import type {
  Amounts,
  Consumer,
  ConsumerRecord,
  Hypervisor,
  OnProgress,
  Port,
  Provider,
  Server,
  Snapshot,
  Volume,
} from "./records.js";
import { asRecord } from "./response-fields.js";

/** The project and user to which the consumers should belong. */
interface Owner {
  readonly projectId: string;
  readonly userId: string;
  readonly consumers: Consumer[];
}

export interface ReadOptions {
  readonly clock: Pick<Clock, "now">;
  readonly onProgress: OnProgress;
  /** Reads the owner of each consumer. */
  readonly thorough: boolean;
  /**
   * Reads the guests of hypervisors, by host. No API provides them; if absent, guests are not checked.
   * @param hosts are up, and have one node each
   */
  readonly readGuests?: (hosts: readonly string[]) => Promise<Snapshot["guests"]>;
}

/**
 * Skips hosts with many nodes, since their guests are the bare-metal nodes. @throws whatever reading the guests throws
 */
async function readGuests(
  hypervisors: readonly Hypervisor[],
  { readGuests: read }: Pick<ReadOptions, "readGuests">,
): Promise<Snapshot["guests"]> {
  const hosts = hypervisors.filter(({ serviceUp }) => serviceUp).map(({ host }) => host);
  const single = hosts.filter((host) => hosts.indexOf(host) === hosts.lastIndexOf(host));
  return read === undefined ? new Map() : read(single);
}

/**
 * Reads everything that is checked: two requests per provider, and one per page of everything else. @throws * {AuditError}
 */
export async function readSnapshot(cloud: Cloud, options: ReadOptions): Promise<Snapshot> {
  const { compute, placement, network, blockStorage } = cloud;
  const { onProgress, thorough } = options;
  // Read before the servers: a server's ports are created after it, and its attachments need not exist after it.
  const ports = network && (await readPorts(network, { onProgress, withBindings: thorough }));
  const volumes = blockStorage && (await readVolumes({ compute, blockStorage }, { onProgress, withDevices: thorough }));
  const [servers, migrations, hypervisors, services, held] = await Promise.all([
    readServers(compute, onProgress),
    readMigrations(compute, onProgress),
    readHypervisors(compute, onProgress),
    readServices(compute),
    listProviders(placement).then((bare) => readProviders(placement, bare.values(), onProgress)),
  ]);
  const guests = await readGuests(hypervisors, options);
  const read = {
    now: options.clock.now(),
    servers: new Map(servers.map((server) => [server.id, server])),
    migrations,
    knowsMigrationConsumers: compute.version >= MIGRATION_UUIDS,
    hypervisors,
    services,
    guests,
    ports,
    volumes,
    ...held,
  };
  return { ...read, records: await readOwners(placement, read, options) };
}

/**
 * Reads the project and user of consumers that Nova does not know, and of those whose project and user have other
 * usages than the sum of their servers' allocations. With `thorough` reads all, since two servers with swapped owners
 * change no sum.
 */
async function readOwners(
  placement: ServiceClient,
  snapshot: Pick<Snapshot, "servers" | "migrations" | "consumers">,
  { thorough, onProgress }: { readonly thorough: boolean; readonly onProgress: OnProgress },
): Promise<Map<string, ConsumerRecord>> {
  const { owners, unknownConsumers } = groupByOwner(snapshot);
  const records = new Map<string, ConsumerRecord>();
  const read = async (consumers: readonly Consumer[]): Promise<void> => {
    const found = await mapWithProgress(consumers, "owners of consumers", onProgress, ({ uuid }) =>
      readConsumer(placement, uuid),
    );
    for (const record of found) {
      records.set(record.uuid, record);
    }
  };
  await read(unknownConsumers);
  const checked = await mapConcurrently(owners, CONCURRENCY, async (owner) => {
    const same = !thorough && (await addsUp(placement, owner, [...records.values()]));
    return same ? [] : owner.consumers;
  });
  await read(checked.flat());
  return records;
}

function groupByOwner({ servers, migrations, consumers }: Pick<Snapshot, "servers" | "migrations" | "consumers">) {
  const serverOf = new Map(migrations.flatMap(({ uuid, server }) => (uuid === null ? [] : [[uuid, server] as const])));
  const owners = new Map<string, Owner>();
  const unknownConsumers: Consumer[] = [];
  for (const consumer of consumers.values()) {
    const server = servers.get(consumer.uuid) ?? servers.get(serverOf.get(consumer.uuid) ?? "");
    if (server === undefined) {
      unknownConsumers.push(consumer);
    } else if (server.userId !== null) {
      const { projectId, userId } = server;
      const key = `${projectId}/${userId}`;
      const owner = owners.get(key) ?? { projectId, userId, consumers: [] };
      owner.consumers.push(consumer);
      owners.set(key, owner);
    }
  }
  return { owners: [...owners.values()], unknownConsumers: unknownConsumers };
}

/** Returns whether Placement's usages of the project and user equal the sum of these consumers' allocations. */
async function addsUp(
  placement: ServiceClient,
  { projectId, userId, consumers }: Owner,
  known: readonly ConsumerRecord[],
): Promise<boolean> {
  const query = `project_id=${encodeURIComponent(projectId)}&user_id=${encodeURIComponent(userId)}`;
  const { usages } = await placement.get(`/usages?${query}`);
  const theirs = known.filter((record) => record.projectId === projectId && record.userId === userId);
  const expected = [...consumers, ...theirs].flatMap(({ held }) => Object.values(held));
  return sameSums(sum(expected), sum(amountsIn(asRecord(usages))));
}

/** Splits usages by consumer type. From 1.38 on they are grouped by it, each with a count of consumers. */
function amountsIn(usages: Readonly<Record<string, unknown>>): Amounts[] {
  const groups = Object.values(usages).every((value) => typeof value === "number") ? [usages] : Object.values(usages);
  return groups.map((group) => {
    const { consumer_count, ...amounts } = asRecord(group);
    return amounts as Amounts;
  });
}

function sum(parts: readonly Amounts[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const part of parts) {
    for (const [name, amount] of Object.entries(part)) {
      sums.set(name, (sums.get(name) ?? 0) + amount);
    }
  }
  return sums;
}

function sameSums(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): boolean {
  return [...new Set([...one.keys(), ...other.keys()])].every(
    (name) => (one.get(name) ?? 0) === (other.get(name) ?? 0),
  );
}

interface Suspects {
  /** Consumers with findings, including servers and migrations. */
  readonly consumers: ReadonlySet<string>;
  readonly providers: ReadonlySet<string>;
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  /** Servers of the ports and volumes. */
  readonly servers: readonly string[];
}

/**
 * Reads everything about the suspects again, so that a build or move that was in progress is seen in a later state.
 * Rereads the lists of moves and hosts completely. @throws {AuditError}
 */
export async function lookAgain(
  { compute, placement, network, blockStorage }: Cloud,
  first: Snapshot,
  suspects: Suspects,
  options: ReadOptions,
): Promise<Snapshot> {
  const { clock, onProgress } = options;
  const [migrations, hypervisors, services, bare] = await Promise.all([
    readMigrations(compute, onProgress),
    readHypervisors(compute, onProgress),
    readServices(compute),
    listProviders(placement),
  ]);
  const guests = await readGuests(hypervisors, options);
  const uuids = withTheirMoves(suspects.consumers, migrations);
  const records: readonly ConsumerRecord[] = await mapConcurrently(uuids, CONCURRENCY, (uuid) =>
    readConsumer(placement, uuid),
  );
  const ports = network && (await readPortsAgain(network, suspects.ports));
  const volumes =
    blockStorage &&
    (await readVolumesAgain({ compute, blockStorage }, suspects.volumes, { withDevices: options.thorough }));
  // Read after the allocations, ports and volumes: if they belong to a server, that server exists by now.
  const servers = await mapWithProgress(
    [...new Set([...uuids, ...suspects.servers])],
    "suspects, a second time",
    onProgress,
    async (uuid) => [uuid, await findServer(compute, uuid)] as const,
  );
  return {
    ...first,
    now: clock.now(),
    migrations,
    hypervisors,
    services,
    guests,
    servers: replaced<Server>(first.servers, servers),
    consumers: replaced<Consumer>(
      first.consumers,
      records.map((record) => [record.uuid, record.generation === null ? undefined : record]),
    ),
    records: replaced<ConsumerRecord>(
      first.records,
      records.map((record) => [record.uuid, record]),
    ),
    ports:
      ports &&
      replaced<Port>(
        first.ports ?? new Map(),
        suspects.ports.map((uuid) => [uuid, ports.get(uuid)]),
      ),
    volumes:
      volumes &&
      replaced<Volume>(
        first.volumes ?? new Map(),
        suspects.volumes.map((uuid) => [uuid, volumes.get(uuid)]),
      ),
    providers: await providersAgain(placement, first, bare, suspects.providers),
  };
}

/** Adds each server's migrations and each migration's server, since they are checked as one group. */
function withTheirMoves(consumers: ReadonlySet<string>, migrations: Snapshot["migrations"]): readonly string[] {
  const all = new Set(consumers);
  for (const { uuid, server } of migrations) {
    if (uuid === null || !(consumers.has(uuid) || consumers.has(server))) {
      continue;
    }
    all.add(uuid);
    all.add(server);
  }
  return [...all];
}

function replaced<T>(
  before: ReadonlyMap<string, T>,
  changes: readonly (readonly [string, T | undefined])[],
): Map<string, T> {
  const after = new Map(before);
  for (const [key, value] of changes) {
    if (value === undefined) {
      after.delete(key);
    } else {
      after.set(key, value);
    }
  }
  return after;
}

/** Reads the current names and trees of all providers, and the inventories of suspects and new providers. */
async function providersAgain(
  placement: Cloud["placement"],
  first: Snapshot,
  bare: Awaited<ReturnType<typeof listProviders>>,
  suspects: ReadonlySet<string>,
): Promise<Map<string, Provider>> {
  const providers = await mapConcurrently([...bare.values()], CONCURRENCY, async (each) => {
    const known = first.providers.get(each.uuid);
    if (known && !suspects.has(each.uuid)) {
      return { ...each, inventories: known.inventories };
    }
    return (await readProvider(placement, each))?.provider;
  });
  return new Map(providers.flatMap((provider) => (provider ? [[provider.uuid, provider] as const] : [])));
}
