import type { Json } from "../../http/json.js";
import {
  boolean,
  ID,
  integerOrNull,
  json,
  OWNER,
  oneOf,
  range,
  STANDARD,
  string,
  stringOrNull,
  TAGS,
  textOrNull,
  uuid,
} from "../engine/attribute-types.js";
import { defineResource, NOT_SPECIFIED } from "../engine/network-resource.js";

/** TODO describe. */
export const SEGMENTS = defineResource({
  collection: "segments",
  singular: "segment",
  path: "/v2.0/segments",
  extension: "segment",
  table: "network_segments",
  attributes: {
    ...ID,
    network_id: { type: uuid, post: true, filter: true, sort: true },
    name: { type: stringOrNull(255), post: true, put: true, default: NOT_SPECIFIED, filter: true, sort: true },
    physical_network: { type: string(64), post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    network_type: { type: string(32), post: true, filter: true, sort: true },
    segmentation_id: {
      type: { ...integerOrNull, converter: "convert_to_int" },
      post: true,
      default: NOT_SPECIFIED,
      sort: true,
    },
    ...OWNER,
    ...STANDARD,
  },
  notFound: { type: "SegmentNotFound" },
});

/** TODO describe. */
export const NETWORK_SEGMENT_RANGES = defineResource({
  collection: "network_segment_ranges",
  singular: "network_segment_range",
  path: "/v2.0/network-segment-ranges",
  extension: "network-segment-range",
  table: "network_network_segment_ranges",
  attributes: {
    ...ID,
    available: { type: json<Json>({ converter: "convert_none_to_empty_list" }) },
    default: { type: boolean },
    maximum: { type: range(1, 4294967295, "convert_to_int"), post: true, put: true },
    minimum: { type: range(1, 4294967295, "convert_to_int"), post: true, put: true },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    network_type: { type: oneOf(["vlan", "vxlan", "gre", "geneve"]), post: true, default: NOT_SPECIFIED, filter: true },
    physical_network: { type: string(64), post: true, default: NOT_SPECIFIED, filter: true },
    shared: { type: boolean, post: true, default: true },
    used: { type: textOrNull },
    ...OWNER,
    ...STANDARD,
    ...TAGS,
  },
  notFound: { type: "NetworkSegmentRangeNotFound" },
  tagged: true,
});
