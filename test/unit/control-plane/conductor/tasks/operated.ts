import type { Instance, InstanceChanges, Migration, MigrationChanges } from "../../../../../src/records/index.js";
import { ConductorBench, NEED } from "./bench.js";

export const REQUEST = "req-1";
/** Service version of `nova-compute` in Pike, with which the instance owns source and destination allocations. */
export const PIKE = 22;

export interface Operated {
  readonly bench: ConductorBench;
  readonly instance: Instance;
  /** Fields of every task of the instance. */
  readonly head: { readonly instanceUuid: string; readonly requestId: string };
}

/** Creates a server on devstack1 whose task_state was set by a request of a user other than its owner. */
export async function operated(
  taskState: Instance["taskState"],
  options: {
    readonly hosts?: readonly string[];
    readonly version?: number;
    /** The CPUs of each host. */
    readonly cpus?: { readonly vcpus: number; readonly cpuRatio: number };
    readonly maxAttempts?: number;
    readonly changes?: InstanceChanges;
  } = {},
): Promise<Operated> {
  const { hosts = ["devstack1", "devstack2"], version = 73, cpus, maxAttempts = 3, changes } = options;
  const bench = await ConductorBench.open({ maxAttempts });
  for (const host of hosts) {
    await bench.host(host, { version, ...cpus });
  }
  const { uuid } = await bench.server("devstack1");
  const instance = bench.store.instances.save(uuid, { powerState: 1, taskState, taskRequestId: REQUEST, ...changes });
  bench.store.actions.start({
    action: "operate",
    instanceUuid: uuid,
    requestId: REQUEST,
    userId: "actor",
    projectId: "actors",
  });
  return { bench, instance, head: { instanceUuid: uuid, requestId: REQUEST } };
}

/** Creates a migration of the instance from devstack1. */
export function migrationOf(
  { bench, instance }: Operated,
  migrationType: Migration["migrationType"],
  status: Migration["status"],
  changes: MigrationChanges = {},
): Migration {
  return bench.store.migrations.create({
    instanceUuid: instance.uuid,
    migrationType,
    status,
    changes: { sourceCompute: "devstack1", sourceNode: "devstack1", ...changes },
  });
}

/** Returns the uuid of the host's provider. */
export function providerOf({ bench }: Operated, host: string): string {
  return bench.store.computeNodes.byHost(host)[0]?.uuid ?? host;
}

/** Sets the consumer's allocations to the server's flavor on each of these hosts. */
export async function holds({ bench }: Operated, consumer: string, ...hosts: readonly string[]): Promise<void> {
  const allocations = Object.fromEntries(
    hosts.map((host) => [bench.store.computeNodes.byHost(host)[0]?.uuid ?? host, { resources: NEED }]),
  );
  const claim = { consumer, request: { allocations }, projectId: "project", userId: "user", version: "1.36" };
  await bench.placement.claimResources({ ...claim, held: "replace" });
}

/** Deletes the host's nodes. */
export function forgetNode({ bench }: Operated, host: string): void {
  for (const { id } of bench.store.computeNodes.byHost(host)) {
    bench.store.computeNodes.destroy(id, host);
  }
}
