import { PlacementError } from "../../placement-client/errors.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { ComputeNode, Migration, Service } from "../../records/index.js";
import type { Logger } from "../../runtime/runtime.js";
import { mapConcurrently } from "../../runtime/task-queue.js";
import type { DeleteServiceOptions } from "../compute/api/deps.js";
import { conflict, type HttpError } from "../http/http-error.js";
import { leaveAggregates } from "../store/aggregate-hosts.js";
import type { Store } from "../store/store.js";

/** Allocations on one provider of a node's tree. */
interface Holding {
  readonly node: ComputeNode;
  readonly provider: string;
  /** Consumer uuids, sorted; null if Placement did not list them. */
  readonly consumers: readonly string[] | null;
}

interface ProviderDeletion {
  readonly requestId: string;
  readonly placement: Pick<
    ReportClient,
    "beginPass" | "getAllocationsForProvider" | "removeProviderTreeFromInstanceAllocation" | "deleteResourceProvider"
  >;
  readonly logger: Logger;
  readonly nodes: readonly ComputeNode[];
}

/** Max parallel requests to Placement: a bare-metal host has thousands of nodes. */
const CONCURRENCY = 16;

/**
 * Policies for DELETE /os-services when allocations prevent a provider's deletion (spec 7.2). `strict` rejects the
 * request, and removes the allocations with `?force=true`. `cascade` always removes them. `upstream` deletes the service
 * and leaves the provider behind.
 */
export const SERVICE_DELETE_POLICIES = ["strict", "upstream", "cascade"] as const;

export type ServiceDeletePolicy = (typeof SERVICE_DELETE_POLICIES)[number];

export interface ServiceDeleteParts {
  readonly store: Store;
  readonly placement: ProviderDeletion["placement"] & Pick<ReportClient, "aggregateAddHost" | "aggregateRemoveHost">;
  readonly policy: ServiceDeletePolicy;
  readonly logger: Logger;
}

interface Deletion extends DeleteServiceOptions {
  readonly parts: ServiceDeleteParts;
  readonly service: Service;
  /** Remove leftover allocations instead of rejecting the request. */
  readonly removes: boolean;
}

/** Max providers in a rejection's message; the others are counted. */
const NAMED = 20;

/**
 * Deletes a nova-compute service by policy (spec 7.1 steps 2 to 8).
 * @returns the function for the Compute API. It throws an HttpError 409, and then the records are
 * unchanged.
 */
export function createServiceDelete(parts: ServiceDeleteParts) {
  return async (service: Service, options: DeleteServiceOptions): Promise<void> => {
    const { store, policy } = parts;
    const removes = policy === "cascade" || (policy === "strict" && options.force);
    const deletion: Deletion = { ...options, parts, service, removes };
    assertNotInUse(deletion); // 2, 4
    const orphans = await (policy === "upstream" ? deleteOrOrphan(deletion) : deleteOrReject(deletion)); // 5, 6
    store.transaction(() => {
      assertNotInUse(deletion);
      store.mappings.unmapHost(service.host); // 7
      store.services.destroy(service.id); // 8
    });
    for (const { node, provider, consumers } of orphans) {
      parts.logger.error("resource provider of a deleted service remains in Placement", {
        host: service.host,
        node: node.hypervisorHostname,
        provider,
        consumers: consumers ?? "unknown: no response from Placement",
        request_id: options.requestId,
      });
    }
  };
}

/** Steps 2 and 4. @throws {HttpError} 409 */
function assertNotInUse({ parts, service, removes, requestId }: Deletion): void {
  const { store, logger } = parts;
  const { host } = service;
  if (store.instances.countByHost(host) > 0) {
    throw conflict(
      "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
    );
  }
  const moves = store.computeNodes
    .byHost(host)
    .flatMap(({ hypervisorHostname }) => store.migrations.inProgress(host, hypervisorHostname))
    .filter((migration) => !(removes && hasLeft(host, migration)));
  if (moves.length > 0) {
    logger.info("Unable to delete compute service: migrations are in progress", {
      host,
      request_id: requestId,
      migrations: moves.map(({ uuid, status }) => `${uuid}:${status}`).join(","),
    });
    throw conflict(
      "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
    );
  }
}

/**
 * Returns true for a move whose guest runs on another host and awaits confirmation. Evacuations never count: the
 * destination may still fail.
 */
function hasLeft(host: string, { migrationType, status, destCompute }: Migration): boolean {
  return (
    (migrationType === "migration" || migrationType === "resize") &&
    (status === "finished" || status === "confirming") &&
    destCompute !== host
  );
}

/** Steps 5 and 6 as upstream: if Placement rejects a request or does not respond, the provider stays behind. */
async function deleteOrOrphan(deletion: Deletion): Promise<readonly Holding[]> {
  const byNode = new Map<string, string[]>();
  for (const { sourceNode, instanceUuid } of evacuationsFrom(deletion)) {
    const instances = byNode.get(sourceNode ?? "") ?? [];
    if (!instances.includes(instanceUuid)) {
      byNode.set(sourceNode ?? "", [...instances, instanceUuid]);
    }
  }
  const providers = providersOf(deletion);
  await leave(deletion);
  return deleteTrees(providers, byNode);
}

/**
 * Steps 5 and 6 of `strict` and `cascade`: reads all providers before changing anything.
 * @throws {HttpError} 409
 */
async function deleteOrReject(deletion: Deletion): Promise<readonly Holding[]> {
  const providers = providersOf(deletion);
  const evacuated = new Set(evacuationsFrom(deletion).map(({ instanceUuid }) => instanceUuid));
  const left = await settled(async () => {
    const holdings = await readHoldings(providers);
    const residues = holdings.map((holding) => without(holding, evacuated)).filter(isHeld);
    if (residues.length > 0 && !deletion.removes) {
      throw toRejectedError(residues, deletion.parts.policy);
    }
    await leave(deletion);
    await stripHoldings(providers, holdings);
    return deleteTrees(providers);
  });
  const held = left.filter(isHeld);
  if (held.length > 0) {
    throw toRejectedError(held, deletion.parts.policy);
  }
  if (left.length > 0) {
    throw unsettled("it did not delete all of them");
  }
  return [];
}

function providersOf({ parts, service, requestId }: Deletion): ProviderDeletion {
  return {
    placement: parts.placement,
    logger: parts.logger,
    nodes: parts.store.computeNodes.byHost(service.host), // 3: none is fine
    requestId,
  };
}

/** Evacuations that are done. The instances' allocations on this host are removed in any case (5.8 step 2). */
function evacuationsFrom({ parts, service }: Deletion): readonly Migration[] {
  return parts.store.migrations.byFilters({
    sourceCompute: service.host,
    migrationTypes: ["evacuation"],
    statuses: ["done"],
  });
}

/** Step 5. @throws {HttpError} 409 */
function leave({ parts, service, requestId }: Deletion): Promise<void> {
  return settled(() => leaveAggregates(parts, service.host, requestId));
}

/** @throws {HttpError} 409 instead of Placement's errors */
async function settled<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    throw unsettled(error.message);
  }
}

function unsettled(reason: string): HttpError {
  return conflict(
    `Unable to delete compute service: what its resource providers hold could not be settled with Placement (${reason}). Try again.`,
  );
}

function without(holding: Holding, evacuated: ReadonlySet<string>): Holding {
  return {
    ...holding,
    consumers: (holding.consumers ?? []).filter((consumer) => !evacuated.has(consumer)),
  };
}

const isHeld = ({ consumers }: Holding): boolean => consumers !== null && consumers.length > 0;

function toRejectedError(holdings: readonly Holding[], policy: ServiceDeletePolicy): HttpError {
  const named = holdings
    .slice(0, NAMED)
    .map(({ provider, consumers }) => JSON.stringify({ provider_uuid: provider, consumers }));
  const more = holdings.length > NAMED ? ` and ${holdings.length - NAMED} more` : "";
  const hint =
    policy === "strict"
      ? 'Remove them ("openstack resource provider allocation unset"), or repeat the request with ?force=true to have them removed.'
      : "Something claimed them meanwhile; repeat the request.";
  return conflict(
    `Unable to delete compute service whose resource providers are in use: ${named.join(", ")}${more}. ${hint}`,
  );
}

/** Reads every provider of every tree without changes. @throws {PlacementError} */
async function readHoldings(deletion: ProviderDeletion): Promise<readonly Holding[]> {
  const { placement, nodes, requestId } = deletion;
  const uuids = nodes.map(({ uuid }) => uuid);
  const pass = await placement.beginPass(uuids, { requestId });
  const providers = nodes.flatMap((node) =>
    (pass.members(node.uuid) ?? []).map(({ uuid }) => ({ node, provider: uuid })),
  );
  return mapConcurrently(providers, CONCURRENCY, async ({ node, provider }) => ({
    node,
    provider,
    consumers: await readConsumers(deletion, provider),
  }));
}

/** Removes each consumer's allocations on these trees; its allocations elsewhere stay. @throws {PlacementError} */
async function stripHoldings(deletion: ProviderDeletion, holdings: readonly Holding[]): Promise<void> {
  const { placement, logger, requestId } = deletion;
  const parts = new Map(
    holdings.flatMap(({ node, consumers }) =>
      (consumers ?? []).map((consumer) => [`${node.uuid} ${consumer}`, { node, consumer }]),
    ),
  );
  await mapConcurrently([...parts.values()], CONCURRENCY, async ({ node, consumer }) => {
    logger.warn("removing a consumer's allocations from the provider of a deleted service", {
      consumer,
      provider: node.uuid,
      node: node.hypervisorHostname,
      request_id: requestId,
    });
    await placement.removeProviderTreeFromInstanceAllocation(consumer, node.uuid, { requestId, retry: true });
  });
}

/**
 * Deletes every node's tree, children first; a failure does not stop the others (spec 7.1 step 6).
 * @param evacuated instances by node name whose allocations on the node are removed first (5.8 step 2)
 * @returns the remaining providers with their consumers
 */
async function deleteTrees(
  deletion: ProviderDeletion,
  evacuated: ReadonlyMap<string, readonly string[]> = new Map(),
): Promise<readonly Holding[]> {
  const { placement, logger, nodes, requestId } = deletion;
  const left = await mapConcurrently(nodes, CONCURRENCY, async (node) => {
    const cascade = { instances: [], evacuated: evacuated.get(node.hypervisorHostname) ?? [] };
    try {
      const { remaining } = await placement.deleteResourceProvider(node.uuid, { requestId, cascade });
      return remaining.map((provider) => ({ node, provider }));
    } catch (error) {
      if (!(error instanceof PlacementError)) {
        throw error;
      }
      logger.error("resource provider of a compute node could not be deleted", {
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

/** Returns null if Placement does not list them. */
async function consumersOf(deletion: ProviderDeletion, provider: string): Promise<Holding["consumers"]> {
  try {
    return await readConsumers(deletion, provider);
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    return null;
  }
}

async function readConsumers({ placement, requestId }: ProviderDeletion, provider: string): Promise<readonly string[]> {
  return [...(await placement.getAllocationsForProvider(provider, { requestId })).consumers.keys()].sort();
}
