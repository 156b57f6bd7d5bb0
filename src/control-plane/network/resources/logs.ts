import { boolean, ID, OWNER, oneOf, STANDARD, string, text, uuidOrNull } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** Requests to log the packets that security groups accept or drop. */
export const LOGS = defineResource({
  collection: "logs",
  singular: "log",
  path: "/v2.0/log/logs",
  prefix: "log",
  extension: "logging",
  table: "network_logs",
  attributes: {
    ...ID,
    ...OWNER,
    name: { type: string(255), post: true, put: true, default: "", filter: true, sort: true },
    resource_type: { type: string(255), post: true, filter: true, sort: true, requiredByPolicy: true },
    /** The security group; null: all of the project. */
    resource_id: { type: uuidOrNull, post: true, default: null, filter: true, sort: true },
    event: { type: oneOf(["ACCEPT", "DROP", "ALL"]), post: true, default: "ALL", filter: true },
    /** The port; null: all that have the group. */
    target_id: { type: uuidOrNull, post: true, default: null, filter: true, sort: true },
    enabled: { type: boolean, post: true, put: true, default: true, filter: true, sort: true },
    ...STANDARD,
  },
  notFound: { type: "LogResourceNotFound", message: (id) => `Log resource ${id} could not be found.` },
  indexes: [["project_id"], ["resource_id"], ["target_id"]],
});

/** Types of resources whose packets can be logged. */
export const LOGGABLE_RESOURCES = defineResource({
  collection: "loggable_resources",
  singular: "loggable_resource",
  path: "/v2.0/log/loggable-resources",
  prefix: "log",
  extension: "logging",
  table: "network_loggable_resources",
  view: "SELECT 'security_group' AS id, 'security_group' AS type, 1 AS rowid",
  attributes: {
    type: { type: text },
    id: { type: text, visible: false },
  },
  notFound: { type: "LoggableResourceNotFound" },
  operations: ["list"],
});
