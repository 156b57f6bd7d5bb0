import type { AgentContext } from "../../../../src/agent/context.js";
import type { Move } from "../../../../src/agent/operations/flow/release-allocations.js";
import type { ResourceAmounts } from "../../../../src/placement-client/types.js";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { aComputeNode, aFlavor, aMigration, anInstance } from "../../../fixtures/records.js";
import { D, I, M, NFS, S, type TwoHosts } from "../../placement-client/two-hosts.js";

export const OLD = aFlavor({ id: 1, vcpus: 1, memoryMb: 512, rootGb: 1 });
export const NEW = aFlavor({ id: 2, flavorid: "2", name: "m1.small", vcpus: 2, memoryMb: 1024, rootGb: 1 });
export const OLD_AMOUNTS = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
export const NEW_AMOUNTS = { VCPU: 2, MEMORY_MB: 1024, DISK_GB: 1 };
export const SUM = { VCPU: 3, MEMORY_MB: 1536, DISK_GB: 2 };
export const CONTEXT = { requestId: "req-move" };

interface MigrationFilters {
  readonly instanceUuid?: string;
  readonly migrationTypes?: readonly Migration["migrationType"][];
  readonly statuses?: readonly Migration["status"][];
}

export type Held = Readonly<Record<string, ResourceAmounts>>;

export interface Case {
  readonly instance?: Partial<Instance>;
  readonly migration?: Partial<Migration>;
  /** Other migrations of the instance. */
  readonly others?: readonly Partial<Migration>[];
  readonly quirks?: readonly string[];
  /** The saved instance; null: there is no row. */
  readonly stored?: () => Partial<Instance> | null;
}

/** Creates the services, and a move from devstack1 (S) to devstack2 (D); the storage's provider acts as a third host. */
export function endedMove(
  hosts: TwoHosts,
  { instance = {}, migration = {}, others = [], quirks = [], stored = () => ({}) }: Case = {},
): { readonly services: AgentContext; readonly move: Move } {
  const flavors = { flavor: OLD, instanceTypeId: OLD.id, oldFlavor: OLD, newFlavor: NEW };
  const moved = anInstance({ uuid: I, host: "devstack1", node: "devstack1", ...flavors, ...instance });
  const ends = { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: "devstack2", destNode: "devstack2" };
  const types = { oldInstanceTypeId: OLD.id, newInstanceTypeId: NEW.id };
  const ofMove = aMigration({ id: 7, uuid: M, instanceUuid: I, ...ends, ...types, ...migration });
  const nodes = [
    aComputeNode({ uuid: S, host: "devstack1", hypervisorHostname: "devstack1" }),
    aComputeNode({ uuid: D, host: "devstack2", hypervisorHostname: "devstack2" }),
    aComputeNode({ uuid: NFS, host: "devstack3", hypervisorHostname: "devstack3" }),
  ];
  const handlers: Record<string, (params: never) => unknown> = {
    instance_get: ({ readDeleted = false }: { readDeleted?: boolean }) => {
      const changes = stored();
      const row = changes && { ...moved, ...changes };
      return row === null || (row.deleted !== 0 && !readDeleted) ? null : row;
    },
    compute_node_get_by_host_and_node: ({ host, node }: { host: string; node: string }) =>
      nodes.find((each) => each.host === host && each.hypervisorHostname === node) ?? null,
    compute_nodes_by_host: ({ host }: { host: string | null }) => {
      if (host === null) {
        throw new TypeError("the conductor refuses a host of null");
      }
      return [
        aComputeNode({ uuid: "00000000-0000-4000-8000-00000000000e", host }),
        ...nodes.filter((each) => each.host === host),
      ];
    },
    migrations_by_filters: ({ filters }: { filters: MigrationFilters }) =>
      [ofMove, ...others.map((other) => aMigration({ instanceUuid: I, migrationType: "evacuation", ...other }))].filter(
        ({ instanceUuid, migrationType, status }) =>
          instanceUuid === (filters.instanceUuid ?? instanceUuid) &&
          (filters.migrationTypes ?? [migrationType]).includes(migrationType) &&
          (filters.statuses ?? [status]).includes(status),
      ),
  };
  const services = {
    conductor: { call: async (method: string, params: never) => handlers[method]?.(params) },
    placement: hosts.client,
    runtime: { ...hosts.bench.runtime, timers: { sleep: async () => undefined, after: () => () => undefined } },
    logger: hosts.bench.runtime.logger,
    config: { workarounds: { upstreamQuirks: new Set(quirks) } },
  } as unknown as AgentContext;
  const move: Move = { instance: moved, migration: ofMove };
  return { services, move };
}

export async function hold({ client, bench }: TwoHosts, consumer: string, held: Held): Promise<void> {
  const allocations = Object.fromEntries(Object.entries(held).map(([uuid, resources]) => [uuid, { resources }]));
  const read = await client.getAllocationsForConsumer(consumer, CONTEXT);
  const write = { read, allocations, projectId: "project", userId: "user" };
  if (!(await client.putAllocations(consumer, write, CONTEXT))) {
    throw new Error("Placement refused it");
  }
  bench.mark();
}
