import { groupBy } from "../../../runtime/collections.js";
import { isOneOf } from "../../resources/condition.js";
import type { Behaviour, Computed, ListFilters, NetworkContext } from "../engine/network-context.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { size } from "../ip/networks.js";
import { size as sizeOfRanges } from "../ip/ranges.js";
import type { NETWORK_IP_AVAILABILITIES, SubnetAvailability } from "../resources/read-only.js";
import { SUBNETS, type SubnetRecord } from "../resources/subnets.js";
import { rangesOf } from "./allocation-pools.js";
import { networkOfSubnet } from "./candidate-subnets.js";

export const AVAILABILITY_BEHAVIOUR: Behaviour<typeof NETWORK_IP_AVAILABILITIES.attributes> = {
  compute,
  filters: {
    ip_version: (_context, values) => {
      const { sql, values: versions } = isOneOf("CAST(subnet.ip_version AS TEXT)", values);
      return {
        sql: `network_id IN (SELECT subnet.network_id FROM ${SUBNETS.table} AS subnet WHERE ${sql})`,
        values: versions,
      };
    },
  },
};

/** Counts the addresses of networks. A filter by IP version leaves out the subnets of the other. */
function compute(
  context: NetworkContext,
  networks: readonly NetworkRecord<typeof NETWORK_IP_AVAILABILITIES>[],
  filters: ListFilters = new Map(),
): readonly Computed[] {
  const versions = filters.get("ip_version");
  const subnets = context
    .table(SUBNETS)
    .find(
      isOneOf(
        "network_id",
        networks.map(({ id }) => id),
      ),
    )
    .filter((subnet) => versions === undefined || versions.includes(String(subnet.ip_version)));
  const used = countUsed(
    context,
    subnets.map(({ id }) => id),
  );
  const byNetwork = groupBy(subnets, ({ network_id: id }) => id);
  return networks.map(({ id }): Computed => {
    const own = byNetwork.get(id) ?? [];
    const counts = own.map((subnet) => toAvailability(subnet, used.get(subnet.id) ?? 0));
    return {
      subnet_ip_availability: counts,
      used_ips: counts.reduce((sum, count) => sum + count.used_ips, 0),
      total_ips: toNumber(own.reduce((sum, subnet) => sum + countTotal(subnet), 0n)),
    };
  });
}

function countUsed({ sql }: NetworkContext, subnetIds: readonly string[]): ReadonlyMap<string, number> {
  const rows = sql.all(
    `SELECT subnet_id, count(*) FROM network_ip_allocations
      WHERE subnet_id IN (SELECT value FROM json_each(?)) GROUP BY subnet_id`,
    JSON.stringify(subnetIds),
  );
  return new Map(rows.map(([id, count]) => [String(id), Number(count)]));
}

function toAvailability(subnet: SubnetRecord, used: number): SubnetAvailability {
  return {
    subnet_id: subnet.id,
    ip_version: subnet.ip_version,
    cidr: subnet.cidr ?? "",
    subnet_name: subnet.name,
    used_ips: used,
    total_ips: toNumber(countTotal(subnet)),
  };
}

/** Returns the number of addresses in the pools; a subnet without pools has all. */
function countTotal(subnet: SubnetRecord): bigint {
  const pools = subnet.allocation_pools ?? [];
  return pools.length > 0 ? sizeOfRanges(rangesOf(pools)) : size(networkOfSubnet(subnet));
}

function toNumber(count: bigint): number | bigint {
  return count <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(count) : count;
}
