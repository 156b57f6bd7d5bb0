import {
  boolean,
  ID,
  integer,
  integerOrNull,
  json,
  OWNER,
  oneOf,
  range,
  STANDARD,
  string,
  stringOrNull,
  TAGS,
  uuid,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkType, NOT_SPECIFIED } from "../engine/network-resource.js";

/** A text that requests cannot set to null, but that may be null. */
const optional = (max: number): NetworkType<string | null> => ({ ...stringOrNull(max), validator: "type:string" });

/** Segments of networks. Each network has at least one, unless its only one was deleted. */
export const SEGMENTS = defineResource({
  collection: "segments",
  singular: "segment",
  path: "/v2.0/segments",
  extension: "segment",
  table: "network_segments",
  attributes: {
    ...STANDARD,
    description: { ...STANDARD.description, type: optional(255) },
    ...ID,
    project_id: { ...OWNER.project_id, filter: false, sort: false, stored: false },
    network_id: { type: uuid, post: true, filter: true, sort: true },
    physical_network: { type: optional(64), post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    network_type: { type: string(32), post: true, filter: true, sort: true },
    segmentation_id: {
      type: { ...integerOrNull, converter: "convert_to_int" },
      post: true,
      default: NOT_SPECIFIED,
      sort: true,
    },
    name: { type: stringOrNull(255), post: true, put: true, default: NOT_SPECIFIED, filter: true, sort: true },
    segment_index: { type: integer, visible: false },
  },
  notFound: { type: "SegmentNotFound" },
  references: { network_id: { table: "network_networks", onDelete: "cascade" } },
  indexes: [["network_id"], ["network_type", "physical_network", "segmentation_id"]],
});

/** Ranges of the ids that segments get when they name none. Those with `default` come from the options. */
export const NETWORK_SEGMENT_RANGES = defineResource({
  collection: "network_segment_ranges",
  singular: "network_segment_range",
  path: "/v2.0/network-segment-ranges",
  extension: "network-segment-range",
  table: "network_segment_ranges",
  attributes: {
    ...TAGS,
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    default: { type: boolean, filter: false },
    shared: { type: boolean, post: true, default: true },
    project_id: { ...OWNER.project_id, type: optional(255) },
    network_type: { type: oneOf(["vlan", "vxlan", "gre", "geneve"]), post: true, default: NOT_SPECIFIED, filter: true },
    physical_network: { type: optional(64), post: true, default: NOT_SPECIFIED, filter: true },
    minimum: { type: range(1, 4294967295, "convert_to_int"), post: true, put: true },
    maximum: { type: range(1, 4294967295, "convert_to_int"), post: true, put: true },
    used: { type: json<Readonly<Record<string, string>>>(), stored: false },
    available: { type: json<readonly number[]>(), stored: false },
    ...STANDARD,
  },
  notFound: {
    type: "NetworkSegmentRangeNotFound",
    message: (id) => `Network Segment Range ${id} could not be found.`,
  },
  unfiltered: ["created_at", "description", "revision_number", "tags", "updated_at"],
  indexes: [["network_type", "physical_network"]],
  tagged: true,
});
