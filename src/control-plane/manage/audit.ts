import { MAX_CONSUMERS } from "../../conductor-client/methods/conductor.js";
import { isAsRead, readConsumer } from "../../placement-client/consumer-allocations.js";
import { isPlacementError, PlacementError } from "../../placement-client/errors.js";
import { listProviders, readProviderAllocations } from "../../placement-client/provider-requests.js";
import type {
  ConsumerAllocations,
  ProviderAllocations,
  ProviderListing,
  ResourceAmounts,
} from "../../placement-client/types.js";
import { pythonRepr } from "../python/repr.js";
import { INVALID_INPUT, ManageFailure, type ManageParts, putAllocations } from "./nova-manage.js";

/** A consumer with allocations on a provider that neither an instance nor a migration of its node explains. */
interface Orphan {
  readonly consumer: string;
  readonly provider: string;
  /** On that provider, by class name. */
  readonly resources: ResourceAmounts;
  /** The complete allocations of the consumer; absent: not read (quirk `audit-races-builds`). */
  readonly held?: ConsumerAllocations;
}

interface Node {
  readonly host: string;
  readonly hypervisorHostname: string;
}

/** The resource classes of Nova. Consumers without any of them belong to other services. */
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

/**
 * Finds orphaned allocations, provider by provider (spec 7.4). A claim is in Placement before the record that explains
 * it.
 * So this reads allocations before records, and ignores consumers whose build or move is in progress. Upstream, and the
 * quirk `audit-races-builds`, reads the records first and reports such claims as orphans.
 */
class OrphanFinder {
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

  /** Returns the suspects that still have allocations, and whose build or move is not in progress. */
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

  /** Returns the instances of the node, and its migrations that are in progress. */
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

export interface AuditOptions {
  readonly resourceProvider?: string;
  readonly delete: boolean;
  readonly verbose: boolean;
}

const AUDIT_CODES = { clean: 0, failed: 1, found: 3, deleted: 4 } as const;

/**
 * `nova-manage placement audit` (spec 7.4).
 * @returns the exit code
 * @throws {ManageFailure} and the errors of Placement and the conductor
 */
export async function audit(parts: ManageParts, options: AuditOptions): Promise<number> {
  const say = options.verbose ? parts.print : () => undefined;
  const finder = new OrphanFinder(parts, say);
  let processed = 0;
  for (const provider of await providersOf(parts, options.resourceProvider)) {
    let faults = 0;
    for (const orphan of await finder.on(provider)) {
      const dealtWith = await report(parts, say, orphan, options.delete);
      if (dealtWith) {
        processed += 1;
      } else {
        faults += 1;
      }
    }
    if (faults > 0) {
      throw new ManageFailure(
        AUDIT_CODES.failed,
        `The Resource Provider ${provider.uuid} had problems when deleting allocations. Stopping now. Please fix the ` +
          "problem by hand and run again.",
      );
    }
  }
  if (processed === 0) {
    return AUDIT_CODES.clean;
  }
  say(`Processed ${processed} allocation${processed > 1 ? "s" : ""}.`);
  return options.delete ? AUDIT_CODES.deleted : AUDIT_CODES.found;
}

/** Returns false if the allocations should be deleted but were not. */
async function report(
  parts: ManageParts,
  say: (line: string) => void,
  orphan: Orphan,
  deletes: boolean,
): Promise<boolean> {
  const { consumer, provider, resources } = orphan;
  // nova-manage's line ends with a blank.
  say(
    `Allocations were set against consumer UUID ${consumer} but no existing instances or active migrations are related. `,
  );
  const what = `consumer UUID ${consumer} on Resource Provider ${provider}`;
  if (!deletes) {
    say(`Allocations for ${what} can be deleted: ${pythonRepr(resources)}`);
    return true;
  }
  if (!(await removeOrphan(parts, orphan))) {
    parts.print(`Not able to delete allocations for consumer UUID ${consumer}`);
    return false;
  }
  say(`Deleted allocations for ${what}: ${pythonRepr(resources)}`);
  return true;
}

async function providersOf(parts: ManageParts, uuid: string | undefined): Promise<readonly ProviderListing[]> {
  const { placement, context } = parts;
  if (uuid === undefined) {
    return listProviders(placement, "", context);
  }
  try {
    const found = await listProviders(placement, `uuid=${encodeURIComponent(uuid)}`, context);
    if (found.length > 0) {
      return found;
    }
  } catch (error) {
    // Placement rejects a string that is not a uuid.
    if (!isPlacementError(error, "ResourceProviderRetrievalFailed") || error.status !== 400) {
      throw error;
    }
  }
  throw new ManageFailure(INVALID_INPUT, `Resource provider with UUID ${uuid} does not exist.`);
}

/**
 * Deletes the orphan's allocations on that provider only. If the consumer has changed since it was read, nothing is
 * deleted; this includes one that was recreated with the same generation.
 * With the quirk, it is deleted without this comparison, as upstream does (7.4).
 * @returns false if the allocations remain
 */
async function removeOrphan(parts: ManageParts, { consumer, provider, held }: Orphan): Promise<boolean> {
  const { placement, context } = parts;
  const current = await readConsumer(placement, consumer, context);
  if (held !== undefined && !isAsRead(held, current)) {
    return false;
  }
  const others = Object.entries(current.allocations).filter(([uuid]) => uuid !== provider);
  if (held === undefined && others.length === 0) {
    const { ok, status } = await placement.delete(`/allocations/${consumer}`, context);
    return ok || status === 404;
  }
  const { projectId, userId } = current;
  const owner = { projectId: projectId ?? "", userId: userId ?? "" };
  const write = { read: current, allocations: Object.fromEntries(others), ...owner };
  return (await putAllocations(parts, consumer, write)) === undefined;
}

function byName(resources: ResourceAmounts): ResourceAmounts {
  return Object.fromEntries(Object.entries(resources).sort(([left], [right]) => (left < right ? -1 : 1)));
}
