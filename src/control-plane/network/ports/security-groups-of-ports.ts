import { isOneOf } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { sharedRows } from "../engine/sharing.js";
import { SECURITY_GROUPS } from "../resources/security-groups.js";
import { ensureDefaultGroup } from "../security-groups/default-group.js";

/** A port, as far as its groups depend on it. */
interface GroupedPort {
  readonly project_id: string;
  readonly device_owner: string;
  readonly port_security_enabled: boolean | null;
}

/** Whether the network itself owns the port, such as a router's interface: it has neither port security nor groups. */
export function isTrusted({ device_owner: owner }: Pick<GroupedPort, "device_owner">): boolean {
  return owner.startsWith("network:");
}

/**
 * Returns the groups of a new port: the requested ones, or the default group of its project.
 * @throws {HttpError} 400, 404, 409
 */
export function chooseGroups(
  context: NetworkContext,
  port: GroupedPort,
  requested: readonly string[] | undefined,
): readonly string[] {
  if (isTrusted(port) || port.port_security_enabled !== true) {
    if ((requested ?? []).length > 0) {
      throw portSecurityRequired();
    }
    return [];
  }
  if (requested === undefined) {
    return [ensureDefaultGroup(context, port.project_id)];
  }
  assertUsableGroups(context, port.project_id, requested);
  return requested;
}

/** Rejects groups that the project may not use, and stateful ones beside stateless ones. @throws {HttpError} 404, 409 */
export function assertUsableGroups(context: NetworkContext, projectId: string, ids: readonly string[]): void {
  const { caller, sql } = context;
  const { rbac, table } = SECURITY_GROUPS;
  const chosen = `${table}.id IN (SELECT value FROM json_each(?))`;
  const shared = rbac && sharedRows(`${table}.id`, rbac, projectId);
  const usable =
    caller.isAdmin || shared === undefined
      ? sql.strings(`SELECT id FROM ${table} WHERE ${chosen}`, JSON.stringify(ids))
      : sql.strings(
          `SELECT id FROM ${table} WHERE ${chosen} AND (project_id = ? OR ${shared.sql})`,
          JSON.stringify(ids),
          projectId,
          ...shared.values,
        );
  const missing = ids.filter((id) => !usable.includes(id));
  if (missing.length > 0) {
    throw networkError(404, "SecurityGroupNotFound", `Security group ${missing.join(", ")} does not exist`);
  }
  const kinds = sql.all(`SELECT DISTINCT stateful FROM ${table} WHERE ${chosen}`, JSON.stringify(ids));
  if (kinds.length > 1) {
    const reason = "Cannot apply both stateful and stateless security groups on the same port at the same time";
    throw networkError(409, "SecurityGroupConflict", `Error ${reason} while attempting the operation.`);
  }
}

export function replaceGroups(context: NetworkContext, portId: string, ids: readonly string[]): void {
  context.sql.execute("DELETE FROM network_port_security_groups WHERE port_id = ?", portId);
  insertGroups(context, portId, ids);
}

/** Stores the groups of a port that has none. */
export function insertGroups({ sql }: NetworkContext, portId: string, ids: readonly string[]): void {
  for (const id of ids) {
    sql.execute("INSERT INTO network_port_security_groups (port_id, security_group_id) VALUES (?, ?)", portId, id);
  }
}

/** Returns the groups of ports by the ports' ids, in the order in which they were set. */
export function groupsOfPorts(
  { sql }: NetworkContext,
  portIds: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const chosen = isOneOf("port_id", portIds);
  const rows = sql.all(
    `SELECT port_id, security_group_id FROM network_port_security_groups WHERE ${chosen.sql} ORDER BY rowid`,
    ...chosen.values,
  );
  const groups = new Map<string, string[]>();
  for (const [port, group] of rows) {
    const list = groups.get(String(port)) ?? [];
    list.push(String(group));
    groups.set(String(port), list);
  }
  return groups;
}

export function portSecurityRequired(): Error {
  return networkError(
    400,
    "PortSecurityAndIPRequiredForSecurityGroups",
    "Port security must be enabled and port must have an IP address in order to use security groups.",
  );
}
