import { where } from "../../resources/condition.js";
import type { Behaviour } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { findRecord } from "../engine/records.js";
import { NETWORKS } from "../resources/networks.js";
import type { SEGMENTS } from "../resources/segments.js";
import { SUBNETS } from "../resources/subnets.js";
import { assertUnique, segmentsOf } from "./network-segments.js";
import { maxMtuOf, reserveSegment, validateSegment } from "./type-drivers.js";

/** Segments that the API adds to networks. */
export const SEGMENT_BEHAVIOUR: Behaviour<typeof SEGMENTS.attributes> = {
  prepareCreate(context, input) {
    const network = findRecord(context, NETWORKS, input.network_id ?? "");
    const spec = {
      network_type: input.network_type ?? "",
      physical_network: input.physical_network ?? null,
      segmentation_id: input.segmentation_id ?? null,
    };
    assertUnique(context, network.id, spec);
    validateSegment(context, spec);
    const segment = reserveSegment(context, spec, network.project_id);
    const others = segmentsOf(context, [network.id]).get(network.id) ?? [];
    assertMtuFits(network, maxMtuOf(context, [...others, segment]));
    const last = others.at(-1)?.segment_index ?? -1;
    return { ...segment, name: input.name ?? null, segment_index: last + 1, revision_number: 1 };
  },
  beforeDelete(context, { id }) {
    const subnets = context.table(SUBNETS).ids(where`segment_id = ${id}`);
    if (subnets.length > 0) {
      throw networkError(
        409,
        "SegmentInUse",
        `Segment '${id}' cannot be deleted: The segment is still associated with subnet(s) ${subnets.join(", ")}.`,
      );
    }
  },
};

/** @throws {HttpError} 400 if a new segment cannot carry the packets of its network */
function assertMtuFits({ mtu }: NetworkRecord<typeof NETWORKS>, max: number): void {
  if (mtu > max) {
    throw invalidOperation(`Requested MTU is too big, maximum is ${max}`);
  }
}
