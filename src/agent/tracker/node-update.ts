import { isPlacementError } from "../../placement-client/errors.js";
import { editedAllocations, reshapeAllocations } from "../../placement-client/flush.js";
import type { PlacementPass } from "../../placement-client/provider-requests.js";
import type { ConsumerAllocations, RequestContext } from "../../placement-client/types.js";
import { retry } from "../../runtime/retry.js";
import { ReshapeNeeded } from "../../virt/errors.js";
import type { ProviderTree } from "../../virt/provider-tree.js";
import { requestId as newRequestId } from "../context.js";
import { addL2AgentProviders } from "./l2-agent-providers.js";
import { renamedProvider } from "./provider-names.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";

const DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED";

/** The traits that the tracker always sets on a root (spec 4.7); OWNER_NOVA since service version 73. */
const ALWAYS = ["COMPUTE_NODE", "OWNER_NOVA"] as const;

interface UpdateOptions {
  /** Reshapes are done at start-up only. */
  readonly startup: boolean;
  readonly pass?: PlacementPass | undefined;
  readonly requestId?: string | undefined;
  /** `later`: if only the statistics of a row have changed, the next pass saves it, as in Nova. Default: saved now. */
  readonly statistics?: "later" | undefined;
}

/** The number of attempts of one update, without delay (spec 4.7). */
const ATTEMPTS = 4;

/** Derives the used columns of the node's row from its account; saves nothing. */
export function recount(tracker: TrackerState, node: TrackedNode): void {
  node.set(node.account.used(node.row, tracker.options, node.failedBuilds, node.driverStats));
}

/**
 * Spec 4.4 step 11, under the lock: updates Placement first, then saves the row if it differs from the last saved one.
 * After a failed save the next pass tries again.
 */
export async function updateNode(tracker: TrackerState, node: TrackedNode, options: UpdateOptions): Promise<void> {
  recount(tracker, node);
  await updateToPlacement(tracker, node, options);
  const changes = node.changes();
  if (changes === null || (options.statistics === "later" && !hasNonStatistics(changes))) {
    return;
  }
  node.persisted(await tracker.conductor.call("compute_node_save", { id: node.row.id, changes }));
}

/** Updates the node for changes that must not fail because of Placement: the next pass repeats a failed update. */
export async function updateQuietly(
  tracker: TrackerState,
  node: TrackedNode,
  options: Pick<UpdateOptions, "statistics"> = {},
): Promise<void> {
  try {
    await updateNode(tracker, node, { startup: false, ...options });
  } catch (err) {
    tracker.logger.warn("the node could not be updated; retrying in the next pass", {
      node: node.row.hypervisorHostname,
      err,
    });
  }
}

/** Columns that change with each step of a guest, and that the scheduler does not use. */
const STATISTICS: readonly string[] = ["runningVms", "currentWorkload", "stats"];

function hasNonStatistics(changes: object): boolean {
  return Object.keys(changes).some((column) => !STATISTICS.includes(column));
}

/** Reads the Service row's `disabled`, which determines the status trait (spec 2.5). */
export async function readDisabled(tracker: TrackerState): Promise<void> {
  const { conductor, host, logger } = tracker;
  const service = await conductor.call("service_get_by_host", { host, binary: "nova-compute" });
  if (!service) {
    logger.error("the compute service has no row: COMPUTE_STATUS_DISABLED stays as it is", { host });
  }
  tracker.binding.disabled = service?.disabled ?? null;
}

/**
 * Updates a node's providers in Placement from the driver, the tracker and provider.yaml (spec 4.7).
 * @throws ResourceProviderUpdateConflict or PlacementReshapeConflict after the last attempt; any error of driver and
 * client
 */
async function updateToPlacement(tracker: TrackerState, node: TrackedNode, options: UpdateOptions): Promise<void> {
  const { timers, logger } = tracker.runtime;
  await retry(timers, () => updateOnce(tracker, node, options), {
    attempts: ATTEMPTS,
    retryOn: (error) => isPlacementError(error, "ResourceProviderUpdateConflict", "PlacementReshapeConflict"),
    onRetry: (_, attempt) => {
      logger.debug("provider changed meanwhile: retrying the update", {
        node: node.row.hypervisorHostname,
        attempt,
      });
    },
  });
}

async function updateOnce(
  tracker: TrackerState,
  node: TrackedNode,
  { startup, pass, requestId }: UpdateOptions,
): Promise<void> {
  const { placement } = tracker;
  const { uuid, hypervisorHostname: name } = node.row;
  const request: RequestContext = { requestId: requestId ?? newRequestId(tracker) };
  const tree = await placement.getProviderTreeAndEnsureRoot(uuid, name, pass ? { ...request, pass } : request);
  assertProviderName(tracker, tree, node);
  const reshape = await fillTree(tracker, tree, node, { startup, request });
  // Nova reads the tree's allocations each time, for its PCI devices.
  if (!reshape && !tracker.options.leanTracking) {
    await placement.getAllocationsForProviderTree(uuid, request);
  }
  syncRootTraits(tree, uuid, tracker.capabilityTraits, tracker.binding.disabled);
  tracker.merge.apply(tree);
  addL2AgentProviders(tree, node.row, tracker.host, {
    ...tracker.options.ovs,
    newUuid: () => tracker.runtime.random.uuid(),
  });
  await placement.updateFromProviderTree(tree, reshape ? { ...request, reshape } : request);
  node.tree = tree;
}

/**
 * Rejects a provider that an operator renamed: drivers know the node's provider by the node's name. The cache forgets
 * the provider, so that the next pass reads its name again.
 */
function assertProviderName(tracker: TrackerState, tree: ProviderTree, { row }: TrackedNode): void {
  const provider = tree.data(row.uuid);
  if (provider.name !== row.hypervisorHostname) {
    tracker.placement.invalidateResourceProvider(row.uuid);
    const { found, hint } = renamedProvider(provider, row.hypervisorHostname, tree.find(row.hypervisorHostname));
    throw new Error(`${found}. To fix it: ${hint}`);
  }
}

/** Lets the driver edit the tree; null unless it had to move allocations, which it does at start-up only. */
async function fillTree(
  tracker: TrackerState,
  tree: ProviderTree,
  node: TrackedNode,
  { startup, request }: { readonly startup: boolean; readonly request: RequestContext },
): Promise<ReadonlyMap<string, ConsumerAllocations> | null> {
  const { driver, placement, logger } = tracker;
  const { uuid, hypervisorHostname: name } = node.row;
  try {
    await driver.updateProviderTree(tree, name);
    return null;
  } catch (error) {
    if (!(error instanceof ReshapeNeeded) || !startup) {
      throw error;
    }
    logger.info("the driver moves inventory between providers of the node", { node: name });
    const consumers = await placement.getAllocationsForProviderTree(uuid, request);
    const allocations = reshapeAllocations(consumers);
    await driver.updateProviderTree(tree, name, { allocations });
    return editedAllocations(consumers, allocations);
  }
}

/**
 * Sets the tracker's own traits on a root and leaves all others (spec 4.7).
 * @param capabilities trait → supported; an unsupported one is removed, even if an operator added it
 * @param disabled the Service row's flag; null: there is no row, the status trait stays as it is
 */
function syncRootTraits(
  tree: ProviderTree,
  root: string,
  capabilities: ReadonlyMap<string, boolean>,
  disabled: boolean | null,
): void {
  const before = tree.data(root).traits;
  let after: Set<string> | null = null;
  const put = (trait: string, desired: boolean): void => {
    if (before.has(trait) === desired) {
      return;
    }
    after ??= new Set(before);
    if (desired) {
      after.add(trait);
    } else {
      after.delete(trait);
    }
  };
  for (const trait of ALWAYS) {
    put(trait, true);
  }
  for (const [trait, supported] of capabilities) {
    put(trait, supported);
  }
  if (disabled !== null) {
    put(DISABLED_TRAIT, disabled);
  }
  if (after !== null) {
    tree.updateTraits(root, after);
  }
}

/** Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5); logs failures. */
export async function setDisabledTrait(
  { placement, logger, host, binding, nodes }: TrackerState,
  enabled: boolean,
  request: RequestContext,
): Promise<void> {
  // Writes between passes must not undo it.
  binding.disabled = !enabled;
  if (nodes.size === 0) {
    logger.warn("the host has no compute node: nothing to enable or disable", { host });
  }
  for (const [name, { row }] of nodes) {
    try {
      const { traits, generation } = await placement.getProviderTraits(row.uuid, request);
      if (traits.includes(DISABLED_TRAIT) === !enabled) {
        continue;
      }
      const desiredTraits = enabled ? traits.filter((trait) => trait !== DISABLED_TRAIT) : [...traits, DISABLED_TRAIT];
      await placement.setTraitsForProvider(row.uuid, { traits: desiredTraits, generation }, request);
    } catch (err) {
      logger.warn(`${DISABLED_TRAIT} could not be ${enabled ? "removed" : "set"}; the next pass does it`, {
        node: name,
        request_id: request.requestId,
        err,
      });
    }
  }
}
