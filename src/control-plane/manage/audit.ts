import { MAX_CONSUMERS } from "../../conductor-client/methods/conductor.js";
import { isAsRead, readConsumer } from "../../placement-client/consumer-allocations.js";
import { PlacementError, ResourceProviderRetrievalFailed } from "../../placement-client/errors.js";
import { listProviders, readProviderAllocations } from "../../placement-client/provider-requests.js";
import type {
  ConsumerAllocations,
  ProviderAllocations,
  ProviderListing,
  ResourceAmounts,
} from "../../placement-client/types.js";
import { pythonRepr } from "../python/repr.js";
import { INVALID_INPUT, ManageFailure, type ManageParts, putAllocations } from "./nova-manage.js";

/** A consumer that holds something on a provider although neither an instance nor a migration of its node explains it. */
interface Orphan {
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

/**
 * Looks for orphans, provider by provider (spec 7.4). A claim is in Placement before the record that explains it, so
 * allocations are read first, records after them, and what is being built or moved is left alone; upstream, and the quirk
 * `audit-races-builds`, reads the records first and takes such claims for orphans.
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

export interface AuditOptions {
  readonly resourceProvider?: string;
  readonly delete: boolean;
  readonly verbose: boolean;
}

const AUDIT_CODES = { clean: 0, failed: 1, found: 3, deleted: 4 } as const;

/** `nova-manage placement audit` (spec 7.4). @returns the exit code. @throws {ManageFailure}, and Placement's and the conductor's errors */
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

/** False: what is to be deleted was not. */
async function report(
  parts: ManageParts,
  say: (line: string) => void,
  orphan: Orphan,
  deletes: boolean,
): Promise<boolean> {
  const { consumer, provider, resources } = orphan;
  // The blank before the line's end is nova-manage's.
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
    // What is no uuid at all is refused by Placement.
    if (!(error instanceof ResourceProviderRetrievalFailed) || error.status !== 400) {
      throw error;
    }
  }
  throw new ManageFailure(INVALID_INPUT, `Resource provider with UUID ${uuid} does not exist.`);
}

/**
 * Takes away what the orphan holds on that provider, and nothing else. A consumer that is not as it was judged is left as it is, also
 * one that was made anew since, at the same generation. Only what upstream does not look at is deleted without (7.4).
 * @returns false: it is still there
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
