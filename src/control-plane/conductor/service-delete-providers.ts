import { PlacementError } from "../../placement-client/errors.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import type { Logger } from "../../runtime/logger.js";
import { mapConcurrently } from "../../runtime/queue.js";

/** Requests to Placement at a time: a bare-metal host has thousands of nodes. */
const CONCURRENCY = 16;

/** What one provider of a node's tree holds. */
export interface Holding {
  readonly node: ComputeNode;
  readonly provider: string;
  /** By uuid, sorted. Null: Placement did not say. */
  readonly consumers: readonly string[] | null;
}

export interface ProviderDeletion extends RequestContext {
  readonly placement: Pick<
    ReportClient,
    "beginPass" | "getAllocationsForProvider" | "removeProviderTreeFromInstanceAllocation" | "deleteResourceProvider"
  >;
  readonly logger: Logger;
  readonly nodes: readonly ComputeNode[];
}

/** Reads every provider of every tree, and changes nothing. @throws {PlacementError} */
export async function readHoldings(deletion: ProviderDeletion): Promise<readonly Holding[]> {
  const { placement, nodes, requestId } = deletion;
  const context = contextOf(requestId);
  const pass = await placement.beginPass(
    nodes.map(({ uuid }) => uuid),
    context,
  );
  const providers = nodes.flatMap((node) =>
    (pass.members(node.uuid) ?? []).map(({ uuid }) => ({ node, provider: uuid })),
  );
  return mapConcurrently(providers, CONCURRENCY, async ({ node, provider }) => ({
    node,
    provider,
    consumers: [...(await placement.getAllocationsForProvider(provider, context)).consumers.keys()].sort(),
  }));
}

/** Takes each consumer off the trees that it was found on; what it holds elsewhere stays. @throws {PlacementError} */
export async function stripHoldings(deletion: ProviderDeletion, holdings: readonly Holding[]): Promise<void> {
  const { placement, logger, requestId } = deletion;
  const parts = new Map(
    holdings.flatMap(({ node, consumers }) =>
      (consumers ?? []).map((consumer) => [`${node.uuid} ${consumer}`, { node, consumer }]),
    ),
  );
  await mapConcurrently([...parts.values()], CONCURRENCY, async ({ node, consumer }) => {
    logger.warn("a consumer's allocations on the provider of a deleted service are removed", {
      consumer,
      provider: node.uuid,
      node: node.hypervisorHostname,
      request_id: requestId,
    });
    const options = { ...contextOf(requestId), retry: true };
    await placement.removeProviderTreeFromInstanceAllocation(consumer, node.uuid, options);
  });
}

/**
 * Deletes every node's tree, children first; one that fails does not stop the others (spec 7.1 step 6).
 * @param evacuated instances by node name whose share of the node goes before (5.8 step 2)
 * @returns the providers that are left, with who holds them
 */
export async function deleteTrees(
  deletion: ProviderDeletion,
  evacuated: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<readonly Holding[]> {
  const { placement, logger, nodes, requestId } = deletion;
  const left = await mapConcurrently(nodes, CONCURRENCY, async (node) => {
    const cascade = { instances: [], evacuated: evacuated.get(node.hypervisorHostname) ?? [] };
    try {
      const { remaining } = await placement.deleteResourceProvider(node.uuid, { ...contextOf(requestId), cascade });
      return remaining.map((provider) => ({ node, provider }));
    } catch (error) {
      if (!(error instanceof PlacementError)) {
        throw error;
      }
      logger.error("the resource provider of a compute node could not be deleted", {
        node: node.hypervisorHostname,
        provider: node.uuid,
        request_id: requestId,
        err: error,
      });
      return [{ node, provider: node.uuid }];
    }
  });
  return mapConcurrently(left.flat(), CONCURRENCY, async (orphan) => ({
    ...orphan,
    consumers: await consumersOf(deletion, orphan.provider),
  }));
}

async function consumersOf(
  { placement, requestId }: ProviderDeletion,
  provider: string,
): Promise<Holding["consumers"]> {
  try {
    return [...(await placement.getAllocationsForProvider(provider, contextOf(requestId))).consumers.keys()].sort();
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    return null;
  }
}

const contextOf = (requestId: string | undefined): RequestContext => (requestId === undefined ? {} : { requestId });
