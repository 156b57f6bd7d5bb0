import { and, where } from "../resources/condition.js";
import type { Behaviour, NetworkContext } from "./engine/network-context.js";
import { networkError } from "./engine/network-errors.js";
import type { NetworkInput, NetworkResource } from "./engine/network-resource.js";
import { visibleTo } from "./engine/sharing.js";
import type { LOGS } from "./resources/logs.js";
import { PORTS } from "./resources/ports.js";
import { SECURITY_GROUPS } from "./resources/security-groups.js";

/** An enabled log goes with its security group or port. Neutron leaves those that are not enabled. */
export const LOGS_SQL = [
  `CREATE TRIGGER IF NOT EXISTS network_logs_of_security_groups AFTER DELETE ON network_security_groups BEGIN
    DELETE FROM network_logs WHERE resource_id = OLD.id AND enabled = 1;
  END`,
  `CREATE TRIGGER IF NOT EXISTS network_logs_of_ports AFTER DELETE ON network_ports BEGIN
    DELETE FROM network_logs WHERE target_id = OLD.id AND enabled = 1;
  END`,
];

export const LOG_BEHAVIOUR: Behaviour<typeof LOGS.attributes> = {
  prepareCreate: (context, input) => {
    assertLoggable(context, input);
    return {};
  },
};

/** @throws {HttpError} 400, 404 */
function assertLoggable(context: NetworkContext, input: NetworkInput<typeof LOGS>): void {
  const { resource_type: type, resource_id: groupId, target_id: portId } = input;
  if (type !== "security_group") {
    throw networkError(400, "InvalidLogResourceType", `Invalid log resource_type: ${type}.`);
  }
  if (groupId && !isVisible(context, SECURITY_GROUPS as unknown as NetworkResource, groupId)) {
    throw networkError(404, "ResourceNotFound", `Resource ${groupId} could not be found.`);
  }
  if (portId && !isVisible(context, PORTS as unknown as NetworkResource, portId)) {
    throw networkError(404, "TargetResourceNotFound", `Target resource ${portId} could not be found.`);
  }
  if (groupId && portId && !hasGroup(context, portId, groupId)) {
    throw networkError(
      400,
      "InvalidResourceConstraint",
      `Invalid resource constraint between resource (security_group ${groupId}) and target resource (port ${portId}).`,
    );
  }
}

function isVisible(context: NetworkContext, resource: NetworkResource, id: string): boolean {
  return context.table(resource).has(and(where`id = ${id}`, visibleTo(context, resource)));
}

function hasGroup({ sql }: NetworkContext, portId: string, groupId: string): boolean {
  const query = "SELECT 1 FROM network_port_security_groups WHERE port_id = ? AND security_group_id = ?";
  return sql.get(query, portId, groupId) !== undefined;
}
