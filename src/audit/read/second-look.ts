import { mapConcurrently } from "../../runtime/task-queue.js";
import type { Cloud } from "../cloud/open-cloud.js";
import { findServer, readHypervisors, readMigrations, readServices } from "./read-compute.js";
import { CONCURRENCY, listProviders, readConsumer, readProvider } from "./read-placement.js";
import { type ReadOptions, readGuests } from "./read-snapshot.js";
import type { Consumer, ConsumerRecord, Provider, Server, Snapshot } from "./records.js";

export interface Suspects {
  /** Consumers that were found at fault; servers and migrations are consumers. */
  readonly consumers: ReadonlySet<string>;
  readonly providers: ReadonlySet<string>;
}

/**
 * The same snapshot with everything about the suspects read anew, so that what was caught in the middle of a build or a move
 * is seen at another moment. Lists of moves and hosts are read anew as a whole. @throws {CloudError}
 */
export async function lookAgain(
  { compute, placement }: Cloud,
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
  // Reads them after the allocations: a consumer that is known by now was known, or on its way, when it held them.
  let done = 0;
  const servers = await mapConcurrently(uuids, CONCURRENCY, async (uuid) => {
    const server = await findServer(compute, uuid);
    done += 1;
    onProgress("suspects, a second time", done, uuids.length);
    return [uuid, server] as const;
  });
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
    providers: await providersAgain(placement, first, bare, suspects.providers),
  };
}

/** A server with its migrations, a migration with its server: they are judged together. */
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

/** Names and trees of all providers as they are now; inventories of the suspects and of new providers. */
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
