import type { ComputeNode, Migration, Service } from "../../conductor/records/index.js";
import { PlacementAPIConnectFailure, PlacementError } from "../../placement/errors.js";
import type { ReportClient } from "../../placement/report-client.js";
import type { Logger } from "../../runtime/logger.js";
import { type DeleteServiceOptions, ServiceDeleteRefused } from "../compute/api/deps.js";
import type { Store } from "../store/store.js";

/**
 * What DELETE /os-services does about allocations that would keep a provider from being deleted (spec 7.2):
 * `strict` refuses, and with `?force=true` removes them; `cascade` always removes them; `upstream` deletes the service and
 * leaves the provider behind.
 */
export const SERVICE_DELETE_POLICIES = ["strict", "upstream", "cascade"] as const;
export type ServiceDeletePolicy = (typeof SERVICE_DELETE_POLICIES)[number];

export interface ServiceDeleteParts {
  readonly store: Store;
  readonly placement: Pick<
    ReportClient,
    "beginPass" | "getAllocationsForProvider" | "removeProviderTreeFromInstanceAllocation" | "deleteResourceProvider"
  >;
  readonly policy: ServiceDeletePolicy;
  readonly logger: Logger;
}

/** Consumers that hold something on a provider of the node and are not cleaned by the delete itself. */
interface Residue {
  readonly node: ComputeNode;
  readonly provider: string;
  readonly consumers: readonly string[];
}

interface Deletion extends DeleteServiceOptions {
  readonly parts: ServiceDeleteParts;
  readonly service: Service;
  /** Residues are removed instead of being a reason to refuse. */
  readonly removes: boolean;
  /** Instances evacuated away from the host for good: their share of the host goes in any case (5.8 step 2). */
  readonly evacuated: readonly string[];
}

/**
 * Spec 7.1 steps 2 to 8 for a nova-compute, by policy.
 * @returns what the Compute API calls. It throws {@link ServiceDeleteRefused}: the state of record is unchanged.
 */
export const createServiceDelete =
  (parts: ServiceDeleteParts) =>
  async (service: Service, options: DeleteServiceOptions): Promise<void> => {
    const { store, policy } = parts;
    const removes = policy === "cascade" || (policy === "strict" && options.force);
    const deletion: Deletion = { ...options, parts, service, removes, evacuated: evacuatedFrom(store, service.host) };
    refuseInUse(deletion); // 2, 4
    const nodes = store.computeNodes.byHost(service.host); // 3: none is fine
    if (policy === "upstream") await deleteProviders(deletion, nodes);
    else await deleteProvidersOrRefuse(deletion, nodes);
    // 5: there are no host aggregates to leave.
    store.transaction(() => {
      refuseInUse(deletion);
      store.mappings.unmapHost(service.host); // 7
      store.services.destroy(service.id); // 8
    });
  };

/** Steps 2 and 4. @throws {ServiceDeleteRefused} */
function refuseInUse({ parts, service, removes, requestId }: Deletion): void {
  const { store, logger } = parts;
  const { host } = service;
  if (store.instances.countByHost(host) > 0) {
    throw new ServiceDeleteRefused(
      "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
    );
  }
  const moves = store.computeNodes
    .byHost(host)
    .flatMap(({ hypervisorHostname }) => store.migrations.inProgress(host, hypervisorHostname))
    .filter((migration) => !(removes && leavesFor(host, migration)));
  if (moves.length > 0) {
    logger.info("Unable to delete compute service: migrations are in progress", {
      host,
      request_id: requestId,
      migrations: moves.map(({ uuid, status }) => `${uuid}:${status}`).join(","),
    });
    throw new ServiceDeleteRefused(
      "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
    );
  }
}

/** A move away from the host that cannot come back but by a revert. An evacuation can: its destination may still fail. */
const leavesFor = (host: string, { migrationType, sourceCompute, destCompute }: Migration): boolean =>
  migrationType !== "evacuation" && sourceCompute === host && destCompute !== host;

const evacuatedFrom = (store: Store, host: string): readonly string[] => [
  ...new Set(
    store.migrations
      .byFilters({ sourceCompute: host, migrationTypes: ["evacuation"], statuses: ["done"] })
      .map(({ instanceUuid }) => instanceUuid),
  ),
];

/** Step 6 as upstream has it: what Placement refuses, or does not answer, is logged, and the provider is left. */
async function deleteProviders(deletion: Deletion, nodes: readonly ComputeNode[]): Promise<void> {
  const { parts, service, requestId } = deletion;
  for (const node of nodes) {
    try {
      await deleteProvider(deletion, node);
    } catch (error) {
      if (!(error instanceof PlacementAPIConnectFailure)) throw error;
      parts.logger.error("the resource provider of a deleted service could not be deleted", {
        host: service.host,
        node: node.hypervisorHostname,
        request_id: requestId,
        err: error,
      });
    }
  }
}

/** Step 6 of `strict` and `cascade`: every provider is looked at before anything is changed. @throws {ServiceDeleteRefused} */
async function deleteProvidersOrRefuse(deletion: Deletion, nodes: readonly ComputeNode[]): Promise<void> {
  try {
    const residues: Residue[] = [];
    for (const node of nodes) residues.push(...(await residuesOn(deletion, node)));
    if (residues.length > 0 && !deletion.removes) throw refusedFor(residues, deletion.parts.policy);
    for (const { node, consumers } of residues) {
      for (const consumer of consumers) await strip(deletion, node, consumer);
    }
    for (const node of nodes) {
      const remaining = await deleteProvider(deletion, node);
      if (remaining.length > 0) throw refusedFor(await residuesOn(deletion, node), deletion.parts.policy, remaining);
    }
  } catch (error) {
    if (!(error instanceof PlacementError)) throw error;
    throw new ServiceDeleteRefused(
      `Unable to delete compute service: what its resource providers hold could not be settled with Placement (${error.message}). Try again.`,
    );
  }
}

async function residuesOn(
  { parts: { placement }, evacuated, requestId }: Deletion,
  node: ComputeNode,
): Promise<readonly Residue[]> {
  const pass = await placement.beginPass([node.uuid], { requestId });
  const settled = new Set(evacuated);
  const residues: Residue[] = [];
  for (const { uuid } of pass.members(node.uuid) ?? []) {
    const held = await placement.getAllocationsForProvider(uuid, { requestId });
    const consumers = [...held.consumers.keys()].filter((consumer) => !settled.has(consumer)).sort();
    if (consumers.length > 0) residues.push({ node, provider: uuid, consumers });
  }
  return residues;
}

/** Only this tree's part: a consumer may hold other providers, too. One that holds nothing any more is fine. */
async function strip({ parts, requestId }: Deletion, node: ComputeNode, consumer: string): Promise<void> {
  parts.logger.warn("a consumer's allocations on the provider of a deleted service are removed", {
    consumer,
    provider: node.uuid,
    node: node.hypervisorHostname,
    request_id: requestId,
  });
  await parts.placement.removeProviderTreeFromInstanceAllocation(consumer, node.uuid, { retry: true, requestId });
}

async function deleteProvider(
  { parts, evacuated, requestId }: Deletion,
  node: ComputeNode,
): Promise<readonly string[]> {
  const cascade = { instances: [], evacuated };
  return (await parts.placement.deleteResourceProvider(node.uuid, { cascade, requestId })).remaining;
}

function refusedFor(
  residues: readonly Residue[],
  policy: ServiceDeletePolicy,
  remaining: readonly string[] = [],
): ServiceDeleteRefused {
  const shown = residues.map(({ provider, consumers }) => ({ provider_uuid: provider, consumers }));
  const left = remaining.filter((uuid) => residues.every(({ provider }) => provider !== uuid));
  const found = [
    ...shown.map((residue) => JSON.stringify(residue)),
    ...left.map((uuid) => JSON.stringify({ provider_uuid: uuid, consumers: [] })),
  ].join(", ");
  const mend =
    policy === "strict"
      ? 'Remove them ("openstack resource provider allocation unset"), or repeat the request with ?force=true to have them removed.'
      : "Something claimed them meanwhile; repeat the request.";
  return new ServiceDeleteRefused(
    `Unable to delete compute service whose resource providers are in use: ${found}. ${mend}`,
  );
}
