import { and, type Condition, EVERY, isOneOf, or } from "../../resources/condition.js";
import { CONVERTERS } from "../engine/converters.js";
import type { NetworkContext } from "../engine/network-context.js";
import { formatAddress, parseAddress } from "../ip/addresses.js";

type Filter = (context: NetworkContext, values: readonly string[]) => Condition;

/** Matches ports by rows of a table that has their ids. */
function withRowsIn(table: string, condition: Condition): Condition {
  return {
    sql: `network_ports.id IN (SELECT ${table}.port_id FROM ${table} WHERE ${condition.sql})`,
    values: condition.values,
  };
}

const ALLOCATIONS = "network_ip_allocations";

/** Filters by attributes that other tables store. Each uses an index, except for parts of addresses. */
export const PORT_FILTERS: Readonly<Record<string, Filter>> = {
  fixed_ips: (_context, values) => matchFixedIps(values),
  security_groups: (_context, values) =>
    withRowsIn("network_port_security_groups", isOneOf("security_group_id", values)),
  "binding:host_id": (_context, values) => withRowsIn("network_port_bindings", isOneOf("host", values)),
  mac_address: (_context, values) =>
    isOneOf(
      "network_ports.mac_address",
      values.map((value) => value.toLowerCase()),
    ),
};

/** Values have the form `ip_address=10.0.0.1`; those with one key are alternatives. @throws {HttpError} 400 */
function matchFixedIps(values: readonly string[]): Condition {
  const parsed = CONVERTERS.convert_kvp_list_to_dict?.(values) as Readonly<Record<string, readonly string[]>>;
  const { ip_address: addresses, ip_address_substr: parts, subnet_id: subnets } = parsed;
  return and(
    addresses ? withRowsIn(ALLOCATIONS, isOneOf("address", addresses.map(toCanonical))) : EVERY,
    parts
      ? withRowsIn(ALLOCATIONS, or(...parts.map((part) => ({ sql: "instr(address, ?) > 0", values: [part] }))))
      : EVERY,
    subnets ? withRowsIn(ALLOCATIONS, isOneOf("subnet_id", subnets)) : EVERY,
  );
}

function toCanonical(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(address);
}
