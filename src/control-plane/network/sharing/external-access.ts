import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { RBAC_POLICIES } from "../resources/rbac-policies.js";
import { ROUTERS } from "../resources/routers.js";
import { policyInUse } from "./policy-in-use.js";

/** The action of policies that let projects use a network for the gateways of their routers. */
export const EXTERNAL = "access_as_external";

/** Makes a network external, since a policy offers it as such. */
export function makeExternal(context: NetworkContext, networkId: string): void {
  if (context.table(NETWORKS).has(where`id = ${networkId} AND router_external = 0`)) {
    context.table(NETWORKS).update(networkId, { "router:external": true });
  }
}

/** Makes a network internal again after its last policy was deleted. */
export function updateExternal(context: NetworkContext, networkId: string): void {
  if (!context.table(RBAC_POLICIES).has(where`object_id = ${networkId} AND action = ${EXTERNAL}`)) {
    context.table(NETWORKS).update(networkId, { "router:external": false });
  }
}

/**
 * Checks that no router would lose the network of its gateway with a policy.
 * @param newTarget the project that the policy names from now on; undefined if it is deleted
 * @throws {HttpError} 409
 */
export function assertExternalAccessUnused(
  context: NetworkContext,
  policy: NetworkRecord<typeof RBAC_POLICIES>,
  newTarget?: string,
): void {
  const { id, object_id: network, target_tenant: target } = policy;
  const others = context
    .table(RBAC_POLICIES)
    .find(where`object_id = ${network} AND action = ${EXTERNAL} AND id IS NOT ${id}`)
    .map(({ target_tenant: project }) => project);
  const users = projectsWithGateway(context, network);
  if (target === "*") {
    if (context.table(NETWORKS).has(where`id = ${network} AND is_default = 1`)) {
      throw policyInUse(network, "Default external networks must be shared to everyone.");
    }
    const remaining = newTarget === undefined ? others : [...others, newTarget];
    if (users.some((project) => !remaining.includes(project))) {
      throw inUseByRouters(network);
    }
  } else if (users.includes(target) && !others.includes("*")) {
    throw inUseByRouters(network);
  }
}

function inUseByRouters(networkId: string): Error {
  return policyInUse(networkId, "There are routers attached to this network that depend on this policy for access.");
}

/** Returns the projects whose routers have their gateway on a network. */
function projectsWithGateway({ sql }: NetworkContext, networkId: string): readonly string[] {
  return sql.strings(
    `SELECT DISTINCT router.project_id FROM ${PORTS.table} AS port JOIN ${ROUTERS.table} AS router
      ON router.id = port.device_id WHERE port.network_id = ? AND port.device_owner = 'network:router_gateway'`,
    networkId,
  );
}
