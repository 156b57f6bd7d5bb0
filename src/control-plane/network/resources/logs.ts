import { boolean, ID, OWNER, oneOf, STANDARD, string, textOrNull, uuidOrNull } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const LOGS = defineResource({
  collection: "logs",
  singular: "log",
  path: "/v2.0/log/logs",
  extension: "logging",
  table: "network_logs",
  attributes: {
    ...ID,
    enabled: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    event: { type: oneOf(["ACCEPT", "DROP", "ALL"]), post: true, default: "ALL", filter: true },
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    resource_id: { type: uuidOrNull, post: true, default: null, filter: true, sort: true },
    resource_type: { type: string(255), post: true, filter: true, sort: true, requiredByPolicy: true },
    target_id: { type: uuidOrNull, post: true, default: null, filter: true, sort: true },
    ...OWNER,
    ...STANDARD,
  },
  notFound: { type: "LogNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const LOGGABLE_RESOURCES = defineResource({
  collection: "loggable_resources",
  singular: "loggable_resource",
  path: "/v2.0/log/loggable-resources",
  extension: "logging",
  table: "network_loggable_resources",
  attributes: {
    type: { type: textOrNull },
  },
  notFound: { type: "LoggableResourceNotFound" }, // not in errors.json: check
});
