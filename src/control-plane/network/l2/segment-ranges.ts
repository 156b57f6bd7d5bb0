import { where } from "../../resources/condition.js";
import type { Behaviour, Computed, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { createRecord, storedAttributes } from "../engine/records.js";
import { NETWORKS } from "../resources/networks.js";
import { NETWORK_SEGMENT_RANGES, SEGMENTS } from "../resources/segments.js";

type Range = NetworkRecord<typeof NETWORK_SEGMENT_RANGES>;

/** Types that have ranges, with the greatest id of each. */
const MAX_IDS: Readonly<Record<Range["network_type"], number>> = {
  vlan: 4094,
  vxlan: 2 ** 24 - 1,
  gre: 2 ** 32 - 1,
  geneve: 2 ** 24 - 1,
};

export const SEGMENT_RANGE_BEHAVIOUR: Behaviour<typeof NETWORK_SEGMENT_RANGES.attributes> = {
  start: createDefaultRanges,
  /** Only administrators may read them, but others learn whether a shared one exists. */
  visible: ({ caller }) => where`(network_segment_ranges.project_id = ${caller.projectId} OR shared = 1)`,
  prepareCreate(context, input) {
    const range = toRange(input);
    if (!range.default) {
      assertLimits(range);
      assertNoOverlap(context, range);
    }
    return range;
  },
  prepareUpdate(context, range, changes) {
    assertChangeable(range);
    const changed = { ...range, ...storedAttributes(NETWORK_SEGMENT_RANGES, changes) };
    const used = usedIds(context, range);
    const first = used.at(0);
    const last = used.at(-1);
    // Neutron rejects limits that equal a used id, although the id would stay in the range.
    if (first && last && (changed.minimum >= first.id || changed.maximum <= last.id)) {
      throw referenced(range.id);
    }
    assertLimits(changed);
    return storedAttributes(NETWORK_SEGMENT_RANGES, changes);
  },
  beforeDelete(context, range) {
    assertChangeable(range);
    if (usedIds(context, range).length > 0) {
      throw referenced(range.id);
    }
  },
  /** Responses to changes have a physical network that is null, as Neutron's; others lack it. */
  computeRequested: ({ shared = false }, { physical_network: physicalNetwork = null }) => ({
    ...(shared && { project_id: null }),
    physical_network: physicalNetwork,
  }),
  compute: (context, ranges) => ranges.map((range) => computeRange(context, range)),
};

function toRange(input: NetworkInput<typeof NETWORK_SEGMENT_RANGES>) {
  const { network_type = "", minimum = 0, maximum = 0, shared = true } = input;
  const isDefault = input.default ?? false;
  if (network_type === "vlan" && !input.physical_network) {
    throw badResource(
      "network_segment_range",
      "Network type vlan requires 'physical_network' to be specified while creating new range.",
    );
  }
  return {
    network_type: network_type as Range["network_type"],
    physical_network: network_type === "vlan" ? (input.physical_network ?? null) : null,
    minimum,
    maximum,
    default: isDefault,
    shared,
    project_id: shared ? null : (input.project_id ?? null),
  };
}

/** Rejects limits that are no ids of the type. Neutron maps these exceptions to no other status. @throws {HttpError} 500 */
function assertLimits({ minimum, maximum, network_type: type }: Pick<Range, "minimum" | "maximum" | "network_type">) {
  const isVlan = type === "vlan";
  const invalid = [minimum, maximum].find((id) => id > MAX_IDS[type]);
  let reason: string | undefined;
  if (invalid !== undefined) {
    reason = isVlan ? `${invalid} is not a valid VLAN tag` : `${invalid} is not a valid ${type} identifier`;
  } else if (minimum > maximum) {
    reason = `End of ${isVlan ? "VLAN" : "tunnel"} range is less than start of ${isVlan ? "VLAN" : "tunnel"} range`;
  }
  if (reason !== undefined) {
    const range = `${minimum}:${maximum}`;
    throw isVlan
      ? networkError(500, "NetworkVlanRangeError", `Invalid network VLAN range: '${range}' - '${reason}'.`)
      : networkError(500, "NetworkTunnelRangeError", `Invalid network tunnel range: '${range}' - ${reason}.`);
  }
}

/** @throws {HttpError} 409 */
function assertNoOverlap(
  context: NetworkContext,
  range: Pick<Range, "network_type" | "physical_network" | "minimum" | "maximum">,
): void {
  const overlapping = context.table(NETWORK_SEGMENT_RANGES).ids(
    where`default_ = 0 AND network_type = ${range.network_type} AND physical_network IS ${range.physical_network}
      AND minimum <= ${range.maximum} AND maximum >= ${range.minimum}`,
  );
  if (overlapping.length > 0) {
    throw networkError(
      409,
      "NetworkSegmentRangeOverlaps",
      `Network segment range overlaps with range(s) with id ${overlapping.join(", ")}`,
    );
  }
}

/** @throws {HttpError} 400 for a range that comes from the options */
function assertChangeable({ id, default: isDefault }: Range): void {
  if (isDefault) {
    throw networkError(
      400,
      "NetworkSegmentRangeDefaultReadOnly",
      `Network Segment Range ${id} is a default segment range which could not be updated or deleted.`,
    );
  }
}

function referenced(id: string): Error {
  return networkError(
    409,
    "NetworkSegmentRangeReferencedByProject",
    `Network Segment Range ${id} is referenced by one or more tenant networks.`,
  );
}

/** Returns the used ids of a range in their order, with the projects of the networks. */
function usedIds({ sql }: NetworkContext, range: Range) {
  const rows = sql.all(
    `SELECT segment.segmentation_id, network.project_id FROM ${SEGMENTS.table} AS segment
      JOIN ${NETWORKS.table} AS network ON network.id = segment.network_id
      WHERE segment.network_type = ? AND segment.physical_network IS ? AND segment.segmentation_id BETWEEN ? AND ?
      ORDER BY segment.segmentation_id`,
    range.network_type,
    range.physical_network,
    range.minimum,
    range.maximum,
  );
  return rows.map(([id, project]) => ({ id: Number(id), project: String(project) }));
}

function computeRange(context: NetworkContext, range: Range): Computed {
  const used = new Map(usedIds(context, range).map(({ id, project }) => [id, project]));
  const available: number[] = [];
  for (let id = range.minimum; id <= range.maximum; id += 1) {
    if (!used.has(id)) {
      available.push(id);
    }
  }
  return {
    available,
    used: Object.fromEntries(used),
    physical_network: range.physical_network ?? undefined,
    project_id: range.project_id ?? undefined,
    tenant_id: undefined,
    ...(range.default && { description: null, updated_at: undefined }),
  };
}

/** Creates the ranges of the options; deletes those of earlier options. */
function createDefaultRanges(context: NetworkContext): void {
  const { vlanRanges, vxlanRange, greRange, geneveRange } = context.services.options;
  const configured = [
    ...Object.entries(vlanRanges).flatMap(([physicalNetwork, ranges]) =>
      ranges.map((limits) => ({ type: "vlan", physicalNetwork, limits }) as const),
    ),
    { type: "vxlan", physicalNetwork: null, limits: vxlanRange } as const,
    { type: "gre", physicalNetwork: null, limits: greRange } as const,
    { type: "geneve", physicalNetwork: null, limits: geneveRange } as const,
  ].map(({ type, physicalNetwork, limits: [minimum, maximum] }) => ({
    network_type: type,
    physical_network: physicalNetwork,
    minimum,
    maximum,
  }));
  const existing = context.table(NETWORK_SEGMENT_RANGES).find(where`default_ = 1`);
  for (const range of existing) {
    if (!configured.some((one) => isSame(one, range))) {
      context.table(NETWORK_SEGMENT_RANGES).delete(range.id);
    }
  }
  for (const range of configured) {
    if (!existing.some((one) => isSame(range, one))) {
      createRecord(context, NETWORK_SEGMENT_RANGES, { ...range, default: true, shared: true });
    }
  }
}

type Limits = Pick<Range, "network_type" | "physical_network" | "minimum" | "maximum">;

function isSame(one: Limits, other: Limits): boolean {
  return (
    one.network_type === other.network_type &&
    one.physical_network === other.physical_network &&
    one.minimum === other.minimum &&
    one.maximum === other.maximum
  );
}
