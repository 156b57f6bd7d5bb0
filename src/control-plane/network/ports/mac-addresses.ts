import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { normalizeMac } from "../ip/addresses.js";
import { PORTS, type PortBindingRecord, type PortRecord } from "../resources/ports.js";

/** Neutron's `base_mac` without the octets that differ. */
const BASE_MAC = "fa:16:3e";

/** How often Neutron tries to find a free address (`mac_generation_retries`). */
const MAX_ATTEMPTS = 16;

/** Bindings that no guest uses. */
const UNPLUGGED_TYPES: readonly string[] = ["unbound", "binding_failed"];

/**
 * Returns the requested address in its usual form, or a generated one.
 * @throws {HttpError} 409 if another port of the network has it; 503 if no free one was found
 */
export function chooseMac(context: NetworkContext, networkId: string, requested: string | null | undefined): string {
  if (typeof requested === "string") {
    const mac = normalizeMac(requested) ?? requested;
    assertMacNotInUse(context, networkId, mac);
    return mac;
  }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const mac = `${BASE_MAC}:${context.services.random.hex(3).replace(/..(?!$)/g, "$&:")}`;
    if (!isMacInUse(context, networkId, mac)) {
      return mac;
    }
  }
  throw networkError(
    503,
    "NetworkMacAddressGenerationFailure",
    `Unable to generate unique mac on network ${networkId}.`,
  );
}

/**
 * Returns the address that an update gives a port; null regenerates it. A bound port's address does not change, because a
 * running guest uses it.
 * @throws {HttpError} 409
 */
export function changeMac(
  context: NetworkContext,
  port: PortRecord,
  binding: PortBindingRecord | undefined,
  requested: string | null,
): string {
  if (requested !== null && (normalizeMac(requested) ?? requested) === port.mac_address) {
    return port.mac_address;
  }
  if (port.device_owner.startsWith("network:")) {
    throw networkError(
      409,
      "UnsupportedPortDeviceOwner",
      `Operation mac address update is not supported for device_owner ${port.device_owner} on port ${port.id}.`,
    );
  }
  const mac = chooseMac(context, port.network_id, requested);
  if (binding !== undefined && !UNPLUGGED_TYPES.includes(binding.vif_type)) {
    throw networkError(
      409,
      "PortBound",
      `Unable to complete operation on port ${port.id}, port is already bound, port type: ${binding.vif_type}, old_mac ${port.mac_address}, new_mac ${mac}.`,
    );
  }
  return mac;
}

function assertMacNotInUse(context: NetworkContext, networkId: string, mac: string): void {
  if (isMacInUse(context, networkId, mac)) {
    throw networkError(
      409,
      "MacAddressInUse",
      `Unable to complete operation for network ${networkId}. The mac address ${mac} is in use.`,
    );
  }
}

function isMacInUse(context: NetworkContext, networkId: string, mac: string): boolean {
  return context.table(PORTS).has(where`network_id = ${networkId} AND mac_address = ${mac}`);
}
