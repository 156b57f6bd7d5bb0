import { MAX_CONSUMERS } from "../../conductor-client/methods/operator.js";
import { readConsumer } from "../../placement-client/consumer-allocations.js";
import { PlacementError } from "../../placement-client/errors.js";
import { readProviderAllocations } from "../../placement-client/provider-allocations.js";
import type {
  ConsumerAllocations,
  ProviderAllocations,
  ProviderListing,
  ResourceAmounts,
} from "../../placement-client/types.js";
import type { ManageParts } from "./manage-parts.js";

/** Consumers without any of these are not Nova's. */
const NOVA_CLASSES: ReadonlySet<string> = new Set([
  "VCPU",
  "MEMORY_MB",
  "DISK_GB",
  "VGPU",
  "NET_BW_EGR_KILOBIT_PER_SEC",
  "NET_BW_IGR_KILOBIT_PER_SEC",
  "PCPU",
  "MEM_ENCRYPTION_CONTEXT",
]);

/** A consumer that holds something on a provider although neither an instance nor a migration of its node explains it. */
export interface Orphan {
  readonly consumer: string;
  readonly provider: string;
  /** On that provider, by class name. */
  readonly resources: ResourceAmounts;
  /** All that it was seen to hold; absent: it was not looked at (`audit-races-builds`). */
  readonly held?: ConsumerAllocations;
}

interface Node {
  readonly host: string;
  readonly hypervisorHostname: string;
}

/**
 * Looks for orphans, provider by provider (spec 7.4). A claim is in Placement before the record that explains it, so
 * allocations are read first, records after them, and what is being built or moved is left alone; upstream, and the quirk
 * `audit-races-builds`, reads the records first and takes such claims for orphans.
 */
export class OrphanFinder {
  readonly #parts: ManageParts;
  readonly #say: (line: string) => void;
  readonly #races: boolean;
  readonly #nodes = new Map<string, Node | null>();

  constructor(parts: ManageParts, say: (line: string) => void) {
    this.#parts = parts;
    this.#say = say;
    this.#races = parts.quirks.has("audit-races-builds");
  }

  /** @throws ResourceProviderAllocationRetrievalFailed, ConsumerAllocationRetrievalFailed */
  async on({ uuid, rootUuid }: ProviderListing): Promise<readonly Orphan[]> {
    const node = await this.#nodeOf(rootUuid);
    const before = this.#races ? await this.#consumersOf(node) : undefined;
    const { consumers } = await this.#allocationsOn(uuid);
    const explained = before ?? (await this.#consumersOf(node));
    const suspects = [...consumers]
      .filter(
        ([consumer, held]) => !explained.has(consumer) && Object.keys(held).some((name) => NOVA_CLASSES.has(name)),
      )
      .map(([consumer, resources]) => ({ consumer, provider: uuid, resources: byName(resources) }));
    return this.#races ? suspects : this.#confirmed(suspects);
  }

  /** The consumers that still hold what they held at the first look, and whose records are not about to explain it. */
  async #confirmed(suspects: readonly Orphan[]): Promise<readonly Orphan[]> {
    if (suspects.length === 0) {
      return [];
    }
    const { conductor, placement, context } = this.#parts;
    const uuids = suspects.map(({ consumer }) => consumer);
    const underWay = new Set<string>();
    for (let from = 0; from < uuids.length; from += MAX_CONSUMERS) {
      const some = { uuids: uuids.slice(from, from + MAX_CONSUMERS) };
      for (const uuid of await conductor.call("consumers_under_way", some)) {
        underWay.add(uuid);
      }
    }
    const orphans: Orphan[] = [];
    for (const suspect of suspects.filter(({ consumer }) => !underWay.has(consumer))) {
      const held = await readConsumer(placement, suspect.consumer, context);
      const resources = held.allocations[suspect.provider]?.resources;
      if (resources) {
        orphans.push({ ...suspect, resources: byName(resources), held });
      }
    }
    return orphans;
  }

  async #nodeOf(uuid: string): Promise<Node | null> {
    let node = this.#nodes.get(uuid);
    if (node === undefined) {
      [node = null] = await this.#parts.conductor.call("compute_nodes_by_uuids", { uuids: [uuid] });
      this.#nodes.set(uuid, node);
    }
    if (!node) {
      this.#say(`The compute node for UUID ${uuid} can not be found`);
    }
    return node;
  }

  /** Instances of the node, and migrations that are in progress there. */
  async #consumersOf(node: Node | null): Promise<ReadonlySet<string>> {
    if (!node) {
      return new Set();
    }
    const { conductor } = this.#parts;
    const place = { host: node.host, node: node.hypervisorHostname };
    const migrations = await conductor.call("migrations_in_progress", place);
    const instances = await conductor.call("instances_by_host_and_node", place);
    return new Set([...instances, ...migrations].map(({ uuid }) => uuid));
  }

  async #allocationsOn(uuid: string): Promise<ProviderAllocations> {
    const { placement, context, print } = this.#parts;
    try {
      return await readProviderAllocations(placement, uuid, context);
    } catch (error) {
      if (error instanceof PlacementError) {
        print(`Not able to find allocations for resource provider ${uuid}.`);
      }
      throw error;
    }
  }
}

function byName(resources: ResourceAmounts): ResourceAmounts {
  return Object.fromEntries(Object.entries(resources).sort(([left], [right]) => (left < right ? -1 : 1)));
}
