import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import type { AddressPair, PortInput, PortRecord } from "../resources/ports.js";
import { groupsOfPorts, isTrusted, portSecurityRequired } from "./security-groups-of-ports.js";

/** Returns whether a new port has port security: as requested, or as its network has it. */
export function choosePortSecurity(
  context: NetworkContext,
  { network_id: networkId = "", device_owner: owner = "", port_security_enabled: requested }: PortInput,
): boolean {
  if (isTrusted({ device_owner: owner })) {
    return false;
  }
  if (requested !== undefined) {
    return requested;
  }
  const [isSecure = 1] =
    context.sql.get("SELECT port_security_enabled FROM network_networks WHERE id = ?", networkId) ?? [];
  return isSecure === 1;
}

/** Returns the address pairs with the MAC address of the port where they name none, in Neutron's order. */
export function completePairs(pairs: readonly AddressPair[], mac: string): readonly AddressPair[] {
  const complete = pairs.map(({ mac_address: own = mac, ip_address: address }) => ({
    mac_address: own,
    ip_address: address,
  }));
  const keys = new Set<string>();
  for (const { mac_address: own, ip_address: address } of complete) {
    const key = `${own.toLowerCase()} ${address}`;
    if (keys.has(key)) {
      throw networkError(
        400,
        "DuplicateAddressPairInRequest",
        `Request contains duplicate address pair: mac_address ${own} ip_address ${address}.`,
      );
    }
    keys.add(key);
  }
  const sortKey = ({ mac_address: own, ip_address: address }: AddressPair) => `${own?.toLowerCase()} ${address}`;
  return complete.toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
}

/** @throws {HttpError} 409 */
export function assertPairsAllowed(isSecure: boolean, pairs: readonly AddressPair[]): void {
  if (!isSecure && pairs.length > 0) {
    throw networkError(
      409,
      "AddressPairAndPortSecurityRequired",
      "Port Security must be enabled in order to have allowed address pairs on a port.",
    );
  }
}

/** Rejects an update after which a port without port security has address pairs or groups. @throws {HttpError} 400, 409 */
export function validateSecurity(context: NetworkContext, port: PortRecord, changes: PortInput): void {
  if (isTrusted({ device_owner: changes.device_owner ?? port.device_owner }) && changes.security_groups?.length) {
    throw portSecurityRequired();
  }
  if (changes.port_security_enabled ?? port.port_security_enabled) {
    return;
  }
  assertPairsAllowed(false, changes.allowed_address_pairs ?? port.allowed_address_pairs ?? []);
  if ((changes.security_groups ?? []).length > 0) {
    throw portSecurityRequired();
  }
  if (changes.security_groups === undefined && (groupsOfPorts(context, [port.id]).get(port.id) ?? []).length > 0) {
    throw networkError(
      409,
      "PortSecurityPortHasSecurityGroup",
      "Port has security group associated. Cannot disable port security or IP address until security group is removed.",
    );
  }
}
