import { boolean, checkedText, ID, OWNER, oneOf, string, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** A prefix, which the rules of labels check instead of a validator. */
const prefix = checkedText<string | null>({});

/** Labels under which the traffic of routers is counted. */
export const METERING_LABELS = defineResource({
  collection: "metering_labels",
  singular: "metering_label",
  path: "/v2.0/metering/metering-labels",
  prefix: "metering",
  extension: "metering",
  table: "network_metering_labels",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, default: "", filter: true, sort: true },
    description: { type: string(1024), post: true, default: "", filter: true, sort: true },
    ...OWNER,
    shared: { type: boolean, post: true, default: false, filter: true, sort: true },
  },
  notFound: { type: "MeteringLabelNotFound", message: (id) => `Metering label '${id}' does not exist.` },
  indexes: [["project_id"]],
});

/** Addresses whose traffic a label counts, or excludes. They belong to no project. */
export const METERING_LABEL_RULES = defineResource({
  collection: "metering_label_rules",
  singular: "metering_label_rule",
  path: "/v2.0/metering/metering-label-rules",
  prefix: "metering",
  extension: "metering",
  table: "network_metering_label_rules",
  attributes: {
    ...ID,
    metering_label_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    direction: { type: oneOf(["ingress", "egress"]), post: true, filter: true, sort: true },
    excluded: { type: boolean, post: true, default: false, filter: true, sort: true },
    remote_ip_prefix: { type: prefix, post: true, default: null, filter: true, sort: true },
    project_id: { ...OWNER.project_id, stored: false, filter: false, sort: false, visible: false },
    source_ip_prefix: {
      type: prefix,
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
      extension: "metering_source_and_destination_fields",
    },
    destination_ip_prefix: {
      type: prefix,
      post: true,
      put: true,
      default: null,
      filter: true,
      sort: true,
      extension: "metering_source_and_destination_fields",
    },
  },
  notFound: { type: "MeteringLabelRuleNotFound", message: (id) => `Metering label rule '${id}' does not exist.` },
  references: { metering_label_id: { table: METERING_LABELS.table, onDelete: "cascade" } },
  indexes: [["metering_label_id"]],
});
