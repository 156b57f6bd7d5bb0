import type { NetworkContext } from "../engine/network-context.js";
import { parseNetwork, spans } from "../ip/networks.js";
import { type HostRoute, SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { findSubnets } from "./candidate-subnets.js";

/** A subnet as far as its routes to the other subnets of a routed network depend on it. */
type RoutedSubnet = Pick<SubnetRecord, "network_id" | "segment_id" | "ip_version" | "gateway_ip"> & {
  readonly id?: string;
};

/**
 * Adds to the host routes of a subnet those to the subnets of the network's other segments, by its own gateway. Routes of
 * the user that lead there already suffice.
 * @param oldGateway the gateway before the change; its routes to the other subnets are replaced
 */
export function addPeerRoutes(
  context: NetworkContext,
  subnet: RoutedSubnet,
  routes: readonly HostRoute[],
  oldGateway?: string | null,
): readonly HostRoute[] {
  const { network_id: networkId, gateway_ip: gateway } = subnet;
  const peers = findSubnets(context, networkId).filter(
    (peer) => peer.id !== subnet.id && peer.segment_id !== subnet.segment_id && peer.ip_version === subnet.ip_version,
  );
  let result = routes;
  for (const { cidr } of peers) {
    const network = parseNetwork(cidr ?? "");
    if (cidr === null || network === undefined) {
      continue;
    }
    result = result.filter(({ destination, nexthop }) => !(destination === cidr && nexthop === oldGateway));
    const isCovered = result.some(({ destination }) => {
      const covering = parseNetwork(destination);
      return covering !== undefined && spans(covering, network);
    });
    if (gateway !== null && !isCovered) {
      result = [...result, { destination: cidr, nexthop: gateway }];
    }
  }
  return result;
}

/** Updates the routes of a routed network's subnets after one was created or deleted. */
export function updatePeerRoutes(context: NetworkContext, networkId: string, deletedCidr?: string): void {
  for (const subnet of findSubnets(context, networkId)) {
    const current = subnet.host_routes ?? [];
    const remaining = current.filter(
      ({ destination, nexthop }) => !(destination === deletedCidr && nexthop === subnet.gateway_ip),
    );
    const routes = addPeerRoutes(context, subnet, remaining);
    if (!isSameRoutes(current, routes)) {
      context.table(SUBNETS).update(subnet.id, { host_routes: routes });
      context.touch(SUBNETS, subnet.id);
    }
  }
}

function isSameRoutes(a: readonly HostRoute[], b: readonly HostRoute[]): boolean {
  const toKeys = (routes: readonly HostRoute[]) =>
    routes.map(({ destination, nexthop }) => `${destination} ${nexthop}`).sort();
  return toKeys(a).join() === toKeys(b).join();
}
