import type { Json } from "../http/json.js";
import { isoSeconds } from "../http/times.js";
import { pythonRepr } from "../python/repr.js";
import { where } from "../resources/condition.js";
import type { Behaviour, NetworkContext } from "./engine/network-context.js";
import { networkError } from "./engine/network-errors.js";
import type { NetworkRecord } from "./engine/network-resource.js";
import { unexpectedType } from "./engine/python-values.js";
import { updateRecord, viewsOf } from "./engine/records.js";
import { formatNetwork, parseNetwork } from "./ip/networks.js";
import { ADDRESS_GROUPS } from "./resources/address-groups.js";
import { SECURITY_GROUP_RULES } from "./resources/security-groups.js";

type AddressGroup = NetworkRecord<typeof ADDRESS_GROUPS>;

export const ADDRESS_GROUP_BEHAVIOUR: Behaviour<typeof ADDRESS_GROUPS.attributes> = {
  prepareCreate: (_context, { addresses = [] }) => ({ addresses: normalize(addresses) }),
  beforeDelete(context, { id }) {
    if (context.table(SECURITY_GROUP_RULES).has(where`remote_address_group_id = ${id}`)) {
      throw networkError(
        409,
        "AddressGroupInUse",
        `Address group ${id} is in use on one or more security group rules.`,
      );
    }
  },
  actions: {
    add_addresses(context, group, { addresses }) {
      const added = normalize(addresses);
      const existing = added.filter((address) => group.addresses.includes(address));
      if (existing.length > 0) {
        throw networkError(
          400,
          "AddressesAlreadyExist",
          `Addresses ${pythonRepr(existing)} already exist in the address group ${group.id}.`,
        );
      }
      return replaceAddresses(context, group, [...group.addresses, ...added]);
    },
    remove_addresses(context, group, { addresses }) {
      const removed = normalize(addresses);
      const missing = removed.filter((address) => !group.addresses.includes(address));
      if (missing.length > 0) {
        throw networkError(
          404,
          "AddressesNotFound",
          `Addresses ${pythonRepr(missing)} not found in the address group ${group.id}.`,
        );
      }
      return replaceAddresses(
        context,
        group,
        group.addresses.filter((address) => !removed.includes(address)),
      );
    },
  },
};

/** Returns the networks as CIDRs, each once. Python iterates a text character by character. @throws {HttpError} 400 */
function normalize(addresses: unknown): readonly string[] {
  if (!Array.isArray(addresses) && typeof addresses !== "string") {
    throw unexpectedType();
  }
  const networks = [...addresses].map((address: unknown) => {
    const network = parseNetwork(String(address));
    if (network === undefined) {
      throw networkError(400, "AddrFormatError", `invalid IPNetwork ${address}`);
    }
    return formatNetwork(network);
  });
  return [...new Set(networks)];
}

/** Saves the addresses; returns the group with all attributes, which responses to other requests do not contain. */
function replaceAddresses(context: NetworkContext, { id }: AddressGroup, addresses: readonly string[]): Json {
  const updated = updateRecord(context, ADDRESS_GROUPS, id, { addresses });
  const [view = {}] = viewsOf(context, ADDRESS_GROUPS as never, [updated]);
  const { revision_number, created_at, updated_at } = updated;
  const times = { created_at: isoSeconds(created_at), updated_at: isoSeconds(updated_at) };
  return { address_group: { ...(view as Readonly<Record<string, Json>>), revision_number, ...times } };
}
