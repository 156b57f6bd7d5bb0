import { beforeEach } from "vitest";
import type { ReportClient } from "../../../src/placement-client/report-client.js";
import type { Allocations, ResourceAmounts } from "../../../src/placement-client/types.js";
import { errorResponse, NODE_INVENTORY, PlacementBench } from "./bench.js";

/** Providers: two hosts, their storage, and a device. */
export const S = "00000000-0000-4000-8000-000000000001";
export const D = "00000000-0000-4000-8000-000000000002";
export const NFS = "00000000-0000-4000-8000-000000000003";
export const CHILD = "00000000-0000-4000-8000-000000000004";
/** Consumers: an instance and a migration. */
export const I = "cccccccc-0000-4000-8000-000000000001";
export const M = "cccccccc-0000-4000-8000-000000000002";
export const NAMES = { [S]: "S", [D]: "D", [NFS]: "NFS", [I]: "I", [M]: "M" };

export const FLAVOR = { VCPU: 1, MEMORY_MB: 512 };
export const PROVIDER_RACE = errorResponse(
  409,
  "placement.concurrent_update",
  "Another thread concurrently updated the data",
);

/** Returns allocations of {@link FLAVOR} on each provider. */
export function on(...providers: readonly string[]): Allocations {
  return Object.fromEntries(providers.map((uuid) => [uuid, { resources: FLAVOR }]));
}

/** A Placement with S, D and NFS, and a client that has them in its cache; recreated before each test. */
export class TwoHosts {
  bench = new PlacementBench();
  client: ReportClient = this.bench.client();

  async reset(): Promise<void> {
    this.bench = new PlacementBench();
    this.client = this.bench.client();
    for (const [uuid, name] of [
      [S, "devstack1"],
      [D, "devstack2"],
      [NFS, "nfs"],
    ] as const) {
      const tree = await this.client.getProviderTreeAndEnsureRoot(uuid, name);
      tree.updateInventory(uuid, NODE_INVENTORY);
      await this.client.updateFromProviderTree(tree);
    }
    this.bench.mark();
  }

  readonly claim = (
    allocations: Allocations,
    held: "double" | "replace" = "double",
    consumer = I,
  ): Promise<boolean | null> =>
    this.client.claimResources({
      consumer,
      request: { allocations },
      projectId: "project",
      userId: "user",
      version: "1.36",
      held,
    });

  readonly held = async (consumer = I): Promise<Readonly<Record<string, ResourceAmounts>>> => {
    const { allocations } = await this.client.getAllocationsForConsumer(consumer);
    return Object.fromEntries(Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources]));
  };
}

/** Creates the fixture for the calling test suite. */
export function twoHosts(): TwoHosts {
  const hosts = new TwoHosts();
  beforeEach(() => hosts.reset());
  return hosts;
}
