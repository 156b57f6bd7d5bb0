import {
  boolean,
  checkedText,
  ID,
  integerOrNull,
  json,
  OWNER,
  oneOf,
  STANDARD,
  string,
  TAGS,
  uuid,
  uuidOrNull,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkRecord, type NetworkType, NOT_SPECIFIED } from "../engine/network-resource.js";

/** A range from which addresses are chosen, both ends included. */
export interface AllocationPool {
  readonly [key: string]: string;
  readonly start: string;
  readonly end: string;
}

export interface HostRoute {
  readonly [key: string]: string;
  readonly destination: string;
  readonly nexthop: string;
}

type Ipv6Mode = "dhcpv6-stateful" | "dhcpv6-stateless" | "slaac";

const ipv6Mode: NetworkType<Ipv6Mode | null> = oneOf<Ipv6Mode>(["dhcpv6-stateful", "dhcpv6-stateless", "slaac"]);

/** A range of addresses of a network, from which its ports get theirs. */
export const SUBNETS = defineResource({
  collection: "subnets",
  singular: "subnet",
  path: "/v2.0/subnets",
  extension: "core",
  table: "network_subnets",
  references: {
    network_id: { table: "network_networks" },
    segment_id: { table: "network_segments" },
  },
  indexes: [["network_id"], ["project_id"], ["subnetpool_id"], ["segment_id"]],
  attributes: {
    ...ID,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    ip_version: { type: oneOf([4, 6], "convert_to_int"), post: true, filter: true, sort: true },
    network_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    subnetpool_id: {
      type: checkedText<string | null>({ validator: "type:subnetpool_id_or_none" }),
      post: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
      extension: "subnet_allocation",
    },
    prefixlen: {
      type: { ...integerOrNull, validator: "type:non_negative", converter: "convert_to_int" },
      stored: false,
      post: true,
      default: NOT_SPECIFIED,
      visible: false,
      extension: "subnet_allocation",
    },
    cidr: {
      type: checkedText<string | null>({
        validator: "type:subnet_or_none",
        converter: "convert_cidr_to_canonical_format",
      }),
      post: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
    },
    gateway_ip: {
      type: checkedText<string | null>({
        validator: "type:ip_address_or_none",
        converter: "convert_ip_to_canonical_format",
      }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      filter: true,
      sort: true,
    },
    allocation_pools: {
      type: json<readonly AllocationPool[]>({
        validator: "type:ip_pools",
        converter: "convert_ip_to_canonical_format",
      }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
    },
    dns_nameservers: {
      type: json<readonly string[]>({ validator: "type:nameservers", converter: "convert_none_to_empty_list" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
    },
    host_routes: {
      type: json<readonly HostRoute[]>({ validator: "type:hostroutes", converter: "convert_none_to_empty_list" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
    },
    ...OWNER,
    enable_dhcp: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    ipv6_ra_mode: { type: ipv6Mode, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    ipv6_address_mode: { type: ipv6Mode, post: true, default: NOT_SPECIFIED, filter: true, sort: true },
    shared: {
      type: boolean,
      stored: false,
      filter: true,
      policy: true,
      requiredByPolicy: true,
      visible: false,
    },
    service_types: {
      type: json<readonly string[]>({ validator: "type:list_of_subnet_service_types" }),
      post: true,
      put: true,
      default: NOT_SPECIFIED,
      extension: "subnet-service-types",
    },
    ...TAGS,
    use_default_subnetpool: {
      type: boolean,
      stored: false,
      post: true,
      default: false,
      visible: false,
      extension: "default-subnetpools",
    },
    ...STANDARD,
    segment_id: {
      type: uuidOrNull,
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
      policy: "get",
      extension: "segment",
    },
    "router:external": {
      type: boolean,
      stored: false,
      filter: true,
      extension: "subnet-external-network",
    },
  },
  notFound: { type: "SubnetNotFound" },
  tagged: true,
  quota: { name: "subnet", default: 100 },
});

export type SubnetRecord = NetworkRecord<typeof SUBNETS>;
