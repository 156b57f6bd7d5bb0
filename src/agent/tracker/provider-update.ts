import { PlacementReshapeConflict, ResourceProviderUpdateConflict } from "../../placement-client/errors.js";
import type { PlacementPass } from "../../placement-client/pass.js";
import { editedAllocations, reshapeAllocations } from "../../placement-client/reshape.js";
import type { ConsumerAllocations, RequestContext } from "../../placement-client/types.js";
import { retry } from "../../runtime/retry.js";
import { ReshapeNeeded } from "../../virt/errors.js";
import type { ProviderTree } from "../../virt/provider-tree.js";
import { requestId as newRequestId } from "../context.js";
import { renamedProvider } from "./provider-names.js";
import type { TrackedNode } from "./tracked-node.js";
import type { TrackerState } from "./tracker-state.js";
import { syncRootTraits } from "./traits.js";

/** Tries of one update in all, without delay (spec 4.7). */
const ATTEMPTS = 4;

export interface UpdateOptions {
  /** Reshapes are done at start-up only. */
  readonly startup: boolean;
  readonly pass?: PlacementPass | undefined;
  readonly requestId?: string | undefined;
  /** `later`: a row whose statistics alone have changed is saved by the next pass, as in Nova. Default: it is saved now. */
  readonly statistics?: "later" | undefined;
}

/**
 * Brings a node's providers in Placement to what the driver, the tracker and provider.yaml say (spec 4.7).
 * @throws ResourceProviderUpdateConflict or PlacementReshapeConflict after the last try; whatever driver and client throw.
 */
export async function updateToPlacement(
  tracker: TrackerState,
  node: TrackedNode,
  options: UpdateOptions,
): Promise<void> {
  const { timers, logger } = tracker.context.runtime;
  await retry(timers, () => updateOnce(tracker, node, options), {
    attempts: ATTEMPTS,
    retryOn: (error) => error instanceof ResourceProviderUpdateConflict || error instanceof PlacementReshapeConflict,
    onRetry: (_, attempt) => {
      logger.debug("provider changed meanwhile: the update is tried again", {
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
  const { placement } = tracker.context;
  const { uuid, hypervisorHostname: name } = node.row;
  const request: RequestContext = { requestId: requestId ?? newRequestId(tracker.context) };
  const tree = await placement.getProviderTreeAndEnsureRoot(uuid, name, pass ? { ...request, pass } : request);
  assertProviderName(tracker, tree, node);
  const reshape = await fillTree(tracker, tree, node, { startup, request });
  // Nova asks each time who holds what, for its PCI devices.
  if (!reshape && !tracker.options.leanTracking) {
    await placement.getAllocationsForProviderTree(uuid, request);
  }
  syncRootTraits(tree, uuid, tracker.capabilityTraits, tracker.binding.disabled);
  tracker.merge.apply(tree);
  await placement.updateFromProviderTree(tree, reshape ? { ...request, reshape } : request);
  node.tree = tree;
}

/**
 * Rejects a provider that an operator renamed: drivers know the node's provider by the node's name.
 * The cache forgets the provider, so that the next pass reads its name again.
 */
function assertProviderName({ context }: TrackerState, tree: ProviderTree, { row }: TrackedNode): void {
  const provider = tree.data(row.uuid);
  if (provider.name !== row.hypervisorHostname) {
    context.placement.invalidateResourceProvider(row.uuid);
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
  const { driver, placement, runtime } = tracker.context;
  const { uuid, hypervisorHostname: name } = node.row;
  try {
    await driver.updateProviderTree(tree, name);
    return null;
  } catch (error) {
    if (!(error instanceof ReshapeNeeded) || !startup) {
      throw error;
    }
    runtime.logger.info("the driver moves inventory between providers of the node", { node: name });
    const consumers = await placement.getAllocationsForProviderTree(uuid, request);
    const allocations = reshapeAllocations(consumers);
    await driver.updateProviderTree(tree, name, { allocations });
    return editedAllocations(consumers, allocations);
  }
}
