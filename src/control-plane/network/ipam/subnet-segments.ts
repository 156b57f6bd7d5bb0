import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { SEGMENTS } from "../resources/segments.js";
import type { SubnetRecord } from "../resources/subnets.js";
import { findSubnets } from "./candidate-subnets.js";

/** Subnets of this service need no segment on a routed network. */
const ROUTED_SERVICE = "network:routed";

/** A subnet as far as the rules about segments need it. */
type SegmentedSubnet = Pick<SubnetRecord, "network_id" | "segment_id" | "service_types">;

/** Checks the segment of a new subnet: all subnets of a network have one, or none. @throws {HttpError} 400, 404 */
export function validateSegmentOfNew(context: NetworkContext, subnet: SegmentedSubnet): void {
  const { network_id: networkId, segment_id: segmentId } = subnet;
  if (segmentId !== null) {
    assertSegmentExists(context, segmentId);
  }
  const subnets: readonly SegmentedSubnet[] = [...findSubnets(context, networkId), subnet];
  assertAllOrNone(networkId, segmentsOf(subnets));
  if (segmentId !== null) {
    assertSegmentOfNetwork(context, networkId, segmentId);
  }
}

/** Checks a change of the segment: an only subnet of a network with one segment may get it. @throws {HttpError} 400, 404 */
export function validateSegmentChange(context: NetworkContext, subnet: SubnetRecord, segmentId: string | null): void {
  const { network_id: networkId } = subnet;
  const segments = segmentsOf(findSubnets(context, networkId));
  assertAllOrNone(networkId, segments);
  if (segmentId !== subnet.segment_id) {
    if (segments.length > 1) {
      throw notAllAssociated(networkId);
    }
    if (!segments.includes(null) && !segments.includes(segmentId)) {
      throw networkError(
        400,
        "SubnetSegmentAssociationChangeNotAllowed",
        "A subnet that is already associated with a segment cannot have its segment association changed.",
      );
    }
    if (context.table(SEGMENTS).count(where`network_id = ${networkId}`) > 1) {
      throw networkError(
        400,
        "NoUpdateSubnetWhenMultipleSegmentsOnNetwork",
        `The network '${networkId}' has multiple segments, it is only possible to associate an existing subnet with a segment on networks with a single segment.`,
      );
    }
  }
  if (segmentId !== null) {
    assertSegmentExists(context, segmentId);
    assertSegmentOfNetwork(context, networkId, segmentId);
  }
}

function segmentsOf(subnets: readonly SegmentedSubnet[]): readonly (string | null)[] {
  return subnets
    .filter(({ service_types: types }) => !(types ?? []).includes(ROUTED_SERVICE))
    .map(({ segment_id: segment }) => segment);
}

function assertAllOrNone(networkId: string, segments: readonly (string | null)[]): void {
  if (segments.includes(null) && new Set(segments).size > 1) {
    throw notAllAssociated(networkId);
  }
}

function notAllAssociated(networkId: string): Error {
  return networkError(
    400,
    "SubnetsNotAllAssociatedWithSegments",
    `All of the subnets on network '${networkId}' must either all be associated with segments or all not associated with any segment.`,
  );
}

function assertSegmentExists(context: NetworkContext, id: string): void {
  if (!context.table(SEGMENTS).has(where`id = ${id}`)) {
    throw networkError(404, "SegmentNotFound", `Segment ${id} could not be found.`);
  }
}

function assertSegmentOfNetwork(context: NetworkContext, networkId: string, id: string): void {
  if (context.table(SEGMENTS).get(id)?.network_id !== networkId) {
    throw networkError(
      400,
      "NetworkIdsDontMatch",
      `The subnet's network id, '${networkId}', doesn't match the network_id of segment '${id}'`,
    );
  }
}
