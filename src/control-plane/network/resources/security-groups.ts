import {
  boolean,
  checkedText,
  flag,
  ID,
  json,
  OWNER,
  oneOf,
  STANDARD,
  string,
  TAGS,
  textOrNull,
} from "../engine/attribute-types.js";
import { defineResource, type NetworkType } from "../engine/network-resource.js";

const nullableText = { column: "text" } as NetworkType<string | null>;

const protocol: NetworkType<string | null> = { column: "text", converter: "convert_protocol" };

const port: NetworkType<number | null> = { column: "integer", converter: "convert_validate_port_value" };

/** A rule of a group as the group's response contains it. */
export type EmbeddedRule = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** Groups of rules about the packets that ports may send and receive. Each project has a group `default`. */
export const SECURITY_GROUPS = defineResource({
  collection: "security_groups",
  singular: "security_group",
  path: "/v2.0/security-groups",
  extension: "security-group",
  table: "network_security_groups",
  attributes: {
    ...TAGS,
    ...STANDARD,
    ...ID,
    name: {
      type: checkedText<string>({ validator: "type:name_not_default", parameter: 255 }),
      post: true,
      put: true,
      default: "",
      filter: true,
      sort: true,
    },
    ...OWNER,
    security_group_rules: { type: json<readonly EmbeddedRule[]>(), stored: false },
    stateful: { type: boolean, post: true, put: true, default: true, extension: "stateful-security-group" },
    shared: {
      type: boolean,
      stored: false,
      filter: true,
      policy: true,
      requiredByPolicy: true,
      extension: "security-groups-shared-filtering",
    },
    /** The project whose default group it is. */
    default_of: { type: nullableText, visible: false },
  },
  notFound: { type: "SecurityGroupNotFound", message: (id) => `Security group ${id} does not exist` },
  unique: [["default_of"]],
  indexes: [["project_id", "name"], ["name"]],
  rbac: { objectType: "security_group", actions: ["access_as_shared"] },
  tagged: true,
  quota: { name: "security_group", default: 10 },
});

/** Attributes that a rule of a group, and a rule for new groups, have in common. */
const MATCH = {
  remote_group_id: { type: textOrNull, post: true, default: null, filter: true, sort: true },
  direction: { type: oneOf(["ingress", "egress"]), post: true, filter: true, sort: true },
  protocol: { type: protocol, post: true, default: null, filter: true, sort: true },
  port_range_min: { type: port, post: true, default: null, filter: true, sort: true },
  port_range_max: { type: port, post: true, default: null, filter: true, sort: true },
  ethertype: {
    type: oneOf(["IPv4", "IPv6"], "convert_ethertype_to_case_insensitive"),
    post: true,
    default: "IPv4",
    filter: true,
    sort: true,
  },
  remote_ip_prefix: {
    type: checkedText<string | null>({ converter: "convert_ip_prefix_to_cidr" }),
    post: true,
    default: null,
    filter: true,
    sort: true,
  },
  remote_address_group_id: {
    type: textOrNull,
    post: true,
    default: null,
    filter: true,
    sort: true,
    extension: "security-groups-remote-address-group",
  },
} as const;

/** Rules of security groups. They go with their group, and with the remote group that they name. */
export const SECURITY_GROUP_RULES = defineResource({
  collection: "security_group_rules",
  singular: "security_group_rule",
  path: "/v2.0/security-group-rules",
  extension: "security-group",
  table: "network_security_group_rules",
  attributes: {
    ...STANDARD,
    /** Null for the rules that a new group gets. */
    description: {
      ...STANDARD.description,
      type: checkedText<string | null>({ validator: "type:string", parameter: 255 }),
    },
    ...ID,
    security_group_id: { type: string(36), post: true, filter: true, sort: true, requiredByPolicy: true },
    ...MATCH,
    ...OWNER,
    normalized_cidr: {
      type: checkedText<string | null>({ validator: "type:subnet_or_none" }),
      filter: true,
      sort: true,
      extension: "security-groups-normalized-cidr",
    },
    /** Whether its group is the default group of a project. */
    belongs_to_default_sg: {
      type: flag,
      filter: true,
      extension: "security-groups-rules-belongs-to-default-sg",
    },
  },
  notFound: { type: "SecurityGroupRuleNotFound", message: (id) => `Security group rule ${id} does not exist` },
  references: {
    security_group_id: { table: "network_security_groups", onDelete: "cascade" },
    remote_group_id: { table: "network_security_groups", onDelete: "cascade" },
    remote_address_group_id: { table: "network_address_groups" },
  },
  indexes: [["project_id"], ["security_group_id"], ["remote_group_id"], ["remote_address_group_id"]],
  operations: ["list", "show", "create", "delete"],
  quota: { name: "security_group_rule", default: 100 },
});

/** The rules that new groups get. The remote group `PARENT` is the new group itself. */
export const DEFAULT_SECURITY_GROUP_RULES = defineResource({
  collection: "default_security_group_rules",
  singular: "default_security_group_rule",
  path: "/v2.0/default-security-group-rules",
  extension: "security-groups-default-rules",
  table: "network_default_security_group_rules",
  attributes: {
    ...ID,
    description: { type: string(1024), post: true, default: "", filter: true },
    ...MATCH,
    used_in_default_sg: { type: boolean, post: true, default: false, filter: true },
    used_in_non_default_sg: { type: boolean, post: true, default: true, filter: true },
  },
  notFound: {
    type: "DefaultSecurityGroupRuleNotFound",
    message: (id) => `Default Security Group rule ${id} does not exist`,
  },
  references: { remote_address_group_id: { table: "network_address_groups", onDelete: "cascade" } },
  operations: ["list", "show", "create", "delete"],
});
