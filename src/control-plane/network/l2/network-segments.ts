import { groupBy } from "../../../runtime/collections.js";
import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import type { NETWORKS, ProviderSegment } from "../resources/networks.js";
import { SEGMENTS } from "../resources/segments.js";
import { isPartial, reserveSegment, type SegmentSpec, TENANT_NETWORK_TYPE, validateSegment } from "./type-drivers.js";

type Network = NetworkRecord<typeof NETWORKS>;
type Input = NetworkInput<typeof NETWORKS>;

/** Creates the segments that the request of a network names, or one of the type for projects. */
export function createSegments(context: NetworkContext, network: Network, input: Input): readonly SegmentSpec[] {
  const requested = readSegments(input);
  for (const segment of requested) {
    validateSegment(context, segment);
  }
  rejectDuplicates(requested);
  const specs = requested.length > 0 ? requested : [{ ...UNSPECIFIED, network_type: TENANT_NETWORK_TYPE }];
  return specs.map((spec, index) => {
    const segment = reserveSegment(context, spec, network.project_id);
    insertSegment(context, network.id, segment, index);
    return segment;
  });
}

const UNSPECIFIED = { physical_network: null, segmentation_id: null };

/** @throws {HttpError} 400 */
function readSegments(input: Input): readonly SegmentSpec[] {
  const single: Readonly<Record<string, unknown>> = input;
  const isSingle = PROVIDER_ATTRIBUTES.some((name) => single[name] !== undefined && single[name] !== null);
  if (isSingle && input.segments) {
    throw networkError(
      400,
      "SegmentsSetInConjunctionWithProviders",
      "Segments and provider values cannot both be set.",
    );
  }
  return (isSingle ? [input] : (input.segments ?? [])).map(toSpec);
}

const PROVIDER_ATTRIBUTES = ["provider:network_type", "provider:physical_network", "provider:segmentation_id"] as const;

function toSpec(segment: Partial<ProviderSegment>): SegmentSpec {
  const { "provider:network_type": type } = segment;
  if (type === undefined || type === null) {
    throw invalidOperation("network_type required");
  }
  return {
    network_type: type,
    physical_network: segment["provider:physical_network"] ?? null,
    segmentation_id: segment["provider:segmentation_id"] ?? null,
  };
}

function rejectDuplicates(segments: readonly SegmentSpec[]): void {
  const complete = segments.filter((segment) => !isPartial(segment)).map((segment) => JSON.stringify(segment));
  if (new Set(complete).size < complete.length) {
    throw networkError(400, "SegmentsContainDuplicateEntry", "Duplicate segment entry in request.");
  }
}

/** A network has one segment of a type in a physical network. @throws {HttpError} 409 */
export function assertUnique(context: NetworkContext, networkId: string, spec: SegmentSpec): void {
  const { network_type: type, physical_network: name } = spec;
  const same = where`network_id = ${networkId} AND network_type = ${type} AND physical_network = ${name}`;
  if (context.table(SEGMENTS).has(same)) {
    const values = `${networkId}-${type}-${name}`;
    throw networkError(
      409,
      "NeutronDbObjectDuplicateEntry",
      "Failed to create a duplicate NetworkSegment: for attribute(s) ['network_id', 'network_type', 'physical_network'] " +
        `with value(s) ${values}`,
    );
  }
}

function insertSegment(context: NetworkContext, networkId: string, spec: SegmentSpec, index: number): void {
  const { random, clock } = context.services;
  const now = clock.now();
  assertUnique(context, networkId, spec);
  context.table(SEGMENTS).insert({
    id: random.uuid(),
    network_id: networkId,
    name: null,
    description: null,
    segment_index: index,
    ...spec,
    created_at: now,
    updated_at: now,
    revision_number: 1,
  });
}

/** Returns the segments of networks, by the id of the network. */
export function segmentsOf(
  context: NetworkContext,
  networkIds: readonly string[],
): ReadonlyMap<string, readonly NetworkRecord<typeof SEGMENTS>[]> {
  const segments = context
    .table(SEGMENTS)
    .find(
      where`network_id IN (SELECT value FROM json_each(${JSON.stringify(networkIds)}))`,
      `ORDER BY segment_index, ${SEGMENTS.table}.rowid`,
    );
  return groupBy(segments, ({ network_id: id }) => id);
}

/**
 * Changes the VLAN id of a network; no other attribute of a provider network can change.
 * @throws {HttpError} 400, 409
 */
export function updateProviderAttributes(context: NetworkContext, network: Network, changes: Input): void {
  const segments = segmentsOf(context, [network.id]).get(network.id) ?? [];
  const [segment] = segments;
  const fixed = ["provider:network_type", "provider:physical_network"] as const;
  const current = {
    "provider:network_type": segments.length === 1 ? (segment?.network_type ?? null) : null,
    "provider:physical_network": segments.length === 1 ? (segment?.physical_network ?? null) : null,
  };
  if (fixed.some((name) => changes[name] !== undefined && changes[name] !== current[name])) {
    throw invalidOperation(
      `Plugin does not support updating the following provider network attributes: ${fixed.join(", ")}`,
    );
  }
  const id = changes["provider:segmentation_id"];
  if (!id) {
    return;
  }
  if (segments.length > 1) {
    throw invalidOperation(
      "Provider network attributes can be updated only in provider networks with a single segment.",
    );
  }
  if (segment?.network_type !== "vlan") {
    throw invalidOperation("Only VLAN type networks can be updated.");
  }
  const spec = { network_type: "vlan", physical_network: segment.physical_network, segmentation_id: id };
  validateSegment(context, spec);
  reserveSegment(context, spec, network.project_id);
  context.table(SEGMENTS).update(segment.id, { segmentation_id: id });
  context.touch(SEGMENTS, segment.id);
}
