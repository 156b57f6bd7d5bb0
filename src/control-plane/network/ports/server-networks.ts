import { and, type Condition, EVERY, not, or, where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { sharedRows } from "../engine/sharing.js";
import { parseAddress } from "../ip/addresses.js";
import { contains, parseNetwork } from "../ip/networks.js";
import { NETWORKS } from "../resources/networks.js";
import { SUBNETS } from "../resources/subnets.js";
import type { ServerNetwork } from "../server-ports.js";

const SHARED_FOR_USE = { objectType: "network", actions: ["access_as_shared"] } as const;
const VISIBLE = { objectType: "network", actions: ["access_as_shared", "access_as_external"] } as const;

const shared = (projectId: string): Condition => sharedRows("network_networks.id", SHARED_FOR_USE, projectId);
const ownedBy = (projectId: string): Condition => where`network_networks.project_id = ${projectId}`;

/** Returns the project's own networks, then those shared with it, without external ones. */
export function networksOfProject(context: NetworkContext, projectId: string): readonly ServerNetwork[] {
  const isShared = shared(projectId);
  const isInternal = where`network_networks.router_external = 0`;
  return [
    ...readNetworks(context, projectId, and(ownedBy(projectId), not(isShared), isInternal)),
    ...readNetworks(context, projectId, and(isShared, isInternal)),
  ];
}

export function networkOfServer(
  context: NetworkContext,
  networkId: string,
  { projectId, isAdmin = false }: { readonly projectId: string; readonly isAdmin?: boolean },
): ServerNetwork | undefined {
  const visible = isAdmin ? EVERY : or(ownedBy(projectId), sharedRows("network_networks.id", VISIBLE, projectId));
  const [network] = readNetworks(context, projectId, and(where`network_networks.id = ${networkId}`, visible));
  return network;
}

function readNetworks(context: NetworkContext, projectId: string, condition: Condition): readonly ServerNetwork[] {
  const networks = context.table(NETWORKS).find(condition);
  const ids = networks.map(({ id }) => id);
  const chosen: Condition = {
    sql: "network_networks.id IN (SELECT value FROM json_each(?))",
    values: [JSON.stringify(ids)],
  };
  const sharedIds = new Set(ids.length === 0 ? [] : context.table(NETWORKS).ids(and(chosen, shared(projectId))));
  const withSubnets = new Set(
    context.sql.strings(
      "SELECT DISTINCT network_id FROM network_subnets WHERE network_id IN (SELECT value FROM json_each(?))",
      JSON.stringify(ids),
    ),
  );
  return networks.map((network) => ({
    id: network.id,
    name: network.name,
    projectId: network.project_id,
    isAdminStateUp: network.admin_state_up,
    isShared: sharedIds.has(network.id),
    isExternal: network["router:external"] ?? false,
    hasSubnets: withSubnets.has(network.id),
    isPortSecurityEnabled: network.port_security_enabled,
    qosPolicyId: network.qos_policy_id,
    mtu: network.mtu ?? 0,
  }));
}

/** Whether a subnet of the network contains the address. */
export function isAddressOfNetwork(context: NetworkContext, networkId: string, text: string): boolean {
  const address = parseAddress(text);
  return (
    address !== undefined &&
    context
      .table(SUBNETS)
      .find(where`network_id = ${networkId}`)
      .some(({ cidr }) => {
        const network = parseNetwork(cidr ?? "");
        return network !== undefined && contains(network, address);
      })
  );
}
