import { PlacementError } from "../../../../placement-client/errors.js";
import type { Allocations, GroupMappings } from "../../../../placement-client/types.js";
import type { Instance } from "../../../../records/index.js";
import { badRequest, type HttpError } from "../../../http/http-error.js";
import type { PortResourceRequest } from "../../../network/server-ports.js";
import { portGroups, sameSubtreesOf } from "../../../scheduler/schedule-request.js";
import type { Call } from "../../api/call.js";

/** Resources that a server has for one of its ports. */
interface PortResources {
  readonly allocations: Allocations;
  /** Providers by request group. */
  readonly mappings: GroupMappings;
}

/**
 * Adds the resources that a port requests to the server's allocations, on its host.
 * @throws {HttpError} 400 if the host has not enough of them
 */
export async function claimPortResources(
  { deps, store, requestId }: Call,
  { uuid, host, node }: Instance,
  request: PortResourceRequest,
): Promise<PortResources> {
  const root = store.computeNodes.getByHostAndNode(host ?? "", node ?? "")?.uuid;
  const candidates =
    root && (await deps.placement.getAllocationCandidates(candidatesQuery(request, root), { requestId }));
  const [chosen] = candidates ? candidates.allocationRequests : [];
  if (chosen === undefined) {
    throw resourcesNotAllocated(uuid);
  }
  try {
    await deps.placement.addResources(uuid, chosen.allocations, { requestId });
  } catch (error) {
    throw error instanceof PlacementError ? resourcesNotAllocated(uuid) : error;
  }
  return { allocations: chosen.allocations, mappings: chosen.mappings ?? {} };
}

/** The groups of a port are satisfied by different providers, so both policies permit the same. */
function candidatesQuery(request: PortResourceRequest, root: string) {
  return {
    groups: portGroups([request]),
    groupPolicy: "none",
    sameSubtrees: sameSubtreesOf([request]),
    rootRequired: [],
    inTree: root,
    limit: 1,
  } as const;
}

/** Subtracts the resources of a port that the server no longer has. If that fails, they leak until the server is deleted. */
export async function releasePortResources(
  { deps, requestId }: Call,
  { uuid }: Pick<Instance, "uuid">,
  port: string,
  allocations: Allocations,
): Promise<void> {
  try {
    await deps.placement.removeResources(uuid, allocations, { requestId });
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    deps.logger.error(`resources of port ${port} could not be removed from the server; they leak until it is deleted`, {
      instance: uuid,
      err: error,
      request_id: requestId,
    });
  }
}

function resourcesNotAllocated(uuid: string): HttpError {
  return badRequest(`Failed to allocate additional resources to ${uuid} during interface attach`);
}
