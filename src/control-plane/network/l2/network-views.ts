import { groupBy } from "../../../runtime/collections.js";
import { type Condition, isOneOf } from "../../resources/condition.js";
import { NETWORKS_OF_DHCP_AGENTS } from "../agents/schedules.js";
import type { Computed, NetworkContext } from "../engine/network-context.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { NETWORKS } from "../resources/networks.js";
import { SEGMENTS } from "../resources/segments.js";
import { SUBNETPOOLS } from "../resources/subnet-pools.js";
import { SUBNETS } from "../resources/subnets.js";
import { segmentsOf } from "./network-segments.js";

type Network = NetworkRecord<typeof NETWORKS>;

/** Computes what responses of networks contain of their subnets, segments and agents. */
export function computeNetworks(context: NetworkContext, networks: readonly Network[]): readonly Computed[] {
  const ids = networks.map(({ id }) => id);
  const subnets = subnetsOf(context, ids);
  const segments = segmentsOf(context, ids);
  const zones = zonesOf(context, ids);
  return networks.map((network): Computed => {
    const own = subnets.get(network.id) ?? [];
    const scopeOf = (version: number) => own.find(({ ipVersion }) => ipVersion === version)?.addressScopeId ?? null;
    return {
      subnets: own.map(({ id }) => id),
      availability_zones: [...(zones.get(network.id) ?? [])],
      ipv4_address_scope: scopeOf(4),
      ipv6_address_scope: scopeOf(6),
      l2_adjacency: !own.some(({ segmentId }) => segmentId !== null),
      is_default: network["router:external"] ? network.is_default : undefined,
      ...renderSegments(segments.get(network.id) ?? []),
    };
  });
}

interface SubnetOfNetwork {
  readonly id: string;
  readonly networkId: string;
  readonly ipVersion: number;
  readonly segmentId: string | null;
  readonly addressScopeId: string | null;
}

function subnetsOf({ sql }: NetworkContext, networkIds: readonly string[]) {
  const rows = sql.all(
    `SELECT subnet.id, subnet.network_id, subnet.ip_version, subnet.segment_id, pool.address_scope_id
      FROM ${SUBNETS.table} AS subnet LEFT JOIN ${SUBNETPOOLS.table} AS pool ON pool.id = subnet.subnetpool_id
      WHERE subnet.network_id IN (SELECT value FROM json_each(?)) ORDER BY subnet.rowid`,
    JSON.stringify(networkIds),
  );
  const subnets = rows.map(
    ([id, networkId, ipVersion, segmentId = null, addressScopeId = null]): SubnetOfNetwork => ({
      id: String(id),
      networkId: String(networkId),
      ipVersion: Number(ipVersion),
      segmentId: segmentId === null ? null : String(segmentId),
      addressScopeId: addressScopeId === null ? null : String(addressScopeId),
    }),
  );
  return groupBy(subnets, ({ networkId }) => networkId);
}

/** Returns the availability zones of the DHCP agents that serve each network. */
function zonesOf({ sql }: NetworkContext, networkIds: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const rows = sql.all(
    `SELECT network_id, availability_zone FROM (${NETWORKS_OF_DHCP_AGENTS})
      WHERE network_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(networkIds),
  );
  const zones = new Map<string, Set<string>>();
  for (const [id, zone] of rows) {
    const names = zones.get(String(id)) ?? new Set();
    zones.set(String(id), names.add(String(zone)));
  }
  return zones;
}

/** Renders one segment as attributes of the network, and several as a list. */
function renderSegments(segments: readonly NetworkRecord<typeof SEGMENTS>[]): Computed {
  const rendered = segments.map((segment) => ({
    "provider:network_type": segment.network_type,
    "provider:physical_network": segment.physical_network,
    "provider:segmentation_id": segment.segmentation_id,
  }));
  const [first = NO_SEGMENT] = rendered;
  return rendered.length > 1 ? { segments: rendered } : first;
}

const NO_SEGMENT = {
  "provider:network_type": null,
  "provider:physical_network": null,
  "provider:segmentation_id": null,
};

/** Creates the filter by an attribute of the network's segments. @param column fixed SQL */
export function segmentFilter(column: string) {
  return (_context: NetworkContext, values: readonly string[]): Condition => {
    const { sql, values: parameters } = isOneOf(`CAST(segment.${column} AS TEXT)`, values);
    return {
      sql: `EXISTS (SELECT 1 FROM ${SEGMENTS.table} AS segment
        WHERE segment.network_id = ${NETWORKS.table}.id AND ${sql})`,
      values: parameters,
    };
  };
}
