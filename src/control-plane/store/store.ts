import type { Instance, Migration } from "../../records/index.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { Sql } from "../database/sql.js";
import { createActionTables } from "./actions.js";
import { createAggregateTables } from "./aggregates.js";
import { createBlockDeviceTable } from "./block-devices.js";
import { createComputeNodeTable, type DefaultRatios } from "./compute-nodes.js";
import { createFlavorTables } from "./flavors.js";
import { createLeaseTables, createMappingTables } from "./host-records.js";
import { createInstanceTables } from "./instances.js";
import { createKeyPairTable } from "./key-pairs.js";
import { createMessageTables } from "./messages.js";
import { createMigrationTable } from "./migrations.js";
import { createQuotaTables } from "./quotas.js";
import { createRequestTables } from "./requests.js";
import { createServerGroupTables } from "./server-groups.js";
import { createServiceTable } from "./services.js";
import { Changes, RecentRecords, type StoreChange, type StoreFollower } from "./store-context.js";
import { createTaskLogTable } from "./task-logs.js";
import { createTaskQueue } from "./tasks.js";

/**
 * The database of the control plane: one SQLite file, one owner process. Methods are synchronous; each is one
 * transaction, and `transaction` combines several.
 * Uniqueness (spec 1.1) and references are constraints of the database. The errors are those of `ConductorMethods`.
 * The private types of its tables' parameters are aliases, since declarations spell them out.
 */
export type Store = Readonly<ReturnType<typeof storeOn>>;

export interface StoreRuntime {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const INITIAL_RATIOS: DefaultRatios = { cpuAllocationRatio: 4, ramAllocationRatio: 1, diskAllocationRatio: 1 };

/** Creates the store on a connection whose schema is up to date. */
export function storeOn(
  sql: Sql,
  { runtime, ratios }: { readonly runtime: StoreRuntime; readonly ratios?: Partial<DefaultRatios> },
  close: () => void,
) {
  const changes = new Changes(sql, runtime.logger);
  const followers: StoreFollower[] = [];
  const context = {
    sql,
    followers,
    clock: runtime.clock,
    random: runtime.random,
    changes,
    recentInstances: new RecentRecords<string, Instance>(sql, instanceWeight),
    recentMigrations: new RecentRecords<number, Migration>(sql),
  };
  return {
    services: createServiceTable(context),
    computeNodes: createComputeNodeTable(context, { ...INITIAL_RATIOS, ...ratios }),
    instances: createInstanceTables(context),
    migrations: createMigrationTable(context),
    blockDevices: createBlockDeviceTable(context),
    flavors: createFlavorTables(context),
    aggregates: createAggregateTables(context),
    keyPairs: createKeyPairTable(context),
    serverGroups: createServerGroupTables(context),
    quotas: createQuotaTables(context),
    taskLogs: createTaskLogTable(context),
    actions: createActionTables(context),
    requests: createRequestTables(context),
    mappings: createMappingTables(context),
    tasks: createTaskQueue(context),
    messages: createMessageTables(context),
    leases: createLeaseTables(context),
    /** The same connection, for embedded services that have tables with a prefix (`placement_` …) in the same file. */
    database: sql,
    /** Runs `work` as one transaction; an exception rolls it back. May be nested. */
    transaction: <T>(work: () => T): T => sql.transaction(work),
    /**
     * Like `transaction`, but cheaper when nested parts rarely fail. If one fails, `work` runs again, so it must change
     * nothing but the store.
     */
    batch: <T>(work: () => T): T => sql.batch(work),
    /**
     * Calls the listener after each commit, once for every change, for in-process waiters and caches. An error of a
     * listener is only logged.
     */
    onChange: (listener: (change: StoreChange) => void): (() => void) => changes.listen(listener),
    /** Adds code that runs in the transactions that change servers and their moves. */
    follow: (follower: StoreFollower): void => void followers.push(follower),
    close,
  };
}

/**
 * Counts the characters of the fields that users can make long; all others are short.
 * @internal
 */
export function instanceWeight({ userData, injectedFiles, metadata, systemMetadata }: Instance): number {
  let weight = (userData?.length ?? 0) + lengthOf(metadata) + lengthOf(systemMetadata);
  for (const { contents } of injectedFiles) {
    weight += contents.length;
  }
  return weight;
}

function lengthOf(strings: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const name in strings) {
    length += name.length + (strings[name]?.length ?? 0);
  }
  return length;
}
