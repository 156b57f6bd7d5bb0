import { boolean, ID, OWNER, oneOf, string, textOrNull, uuid } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const METERING_LABELS = defineResource({
  collection: "metering_labels",
  singular: "metering_label",
  path: "/v2.0/metering/metering-labels",
  extension: "metering",
  table: "network_metering_labels",
  attributes: {
    ...ID,
    name: { type: string(255), post: true, default: "", filter: true, sort: true },
    description: { type: string(1024), post: true, default: "", filter: true, sort: true },
    shared: { type: boolean, post: true, default: false, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "MeteringLabelNotFound" },
});

/** TODO describe. */
export const METERING_LABEL_RULES = defineResource({
  collection: "metering_label_rules",
  singular: "metering_label_rule",
  path: "/v2.0/metering/metering-label-rules",
  extension: "metering",
  table: "network_metering_label_rules",
  attributes: {
    ...ID,
    destination_ip_prefix: { type: textOrNull, post: true, put: true, default: null, filter: true, sort: true },
    direction: { type: oneOf(["ingress", "egress"]), post: true, filter: true, sort: true },
    excluded: { type: boolean, post: true, default: false, filter: true, sort: true },
    metering_label_id: { type: uuid, post: true, filter: true, sort: true, requiredByPolicy: true },
    remote_ip_prefix: { type: textOrNull, post: true, default: null, filter: true, sort: true },
    source_ip_prefix: { type: textOrNull, post: true, put: true, default: null, filter: true, sort: true },
    ...OWNER,
  },
  notFound: { type: "MeteringLabelRuleNotFound" },
});
