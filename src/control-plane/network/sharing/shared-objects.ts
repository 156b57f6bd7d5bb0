import type { NetworkContext } from "../engine/network-context.js";
import { ADDRESS_GROUPS } from "../resources/address-groups.js";
import { FLOATINGIPS } from "../resources/floating-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { SECURITY_GROUP_RULES, SECURITY_GROUPS } from "../resources/security-groups.js";
import { ADDRESS_SCOPES, SUBNETPOOLS } from "../resources/subnet-pools.js";
import { SUBNETS } from "../resources/subnets.js";

/** The kinds of records that RBAC policies can share, by their object type. */
export const SHAREABLE = {
  network: NETWORKS,
  qos_policy: QOS_POLICIES,
  security_group: SECURITY_GROUPS,
  address_scope: ADDRESS_SCOPES,
  subnetpool: SUBNETPOOLS,
  address_group: ADDRESS_GROUPS,
} as const;

export type ShareableType = keyof typeof SHAREABLE;

export function isShareable(objectType: string): objectType is ShareableType {
  return Object.hasOwn(SHAREABLE, objectType);
}

export interface SharedObject {
  readonly type: ShareableType;
  readonly projectId: string;
  /** The address scope of a subnet pool; null of other kinds. */
  readonly addressScopeId: string | null;
}

export function findShared({ sql }: NetworkContext, type: ShareableType, id: string): SharedObject | undefined {
  const scope = type === "subnetpool" ? "address_scope_id" : "NULL";
  const row = sql.get(`SELECT project_id, ${scope} FROM ${SHAREABLE[type].table} WHERE id = ?`, id);
  const [projectId, addressScopeId = null] = row ?? [];
  return (
    row && {
      type,
      projectId: String(projectId),
      addressScopeId: addressScopeId === null ? null : String(addressScopeId),
    }
  );
}

/** Queries for the projects whose records use an object. */
const USERS: Readonly<Record<ShareableType, string>> = {
  network: `SELECT project_id FROM ${PORTS.table} WHERE network_id = ?1`,
  qos_policy: [NETWORKS, PORTS, FLOATINGIPS]
    .map(({ table }) => `SELECT project_id FROM ${table} WHERE qos_policy_id = ?1`)
    .join(" UNION "),
  security_group: `SELECT port.project_id FROM network_port_security_groups AS member
    JOIN ${PORTS.table} AS port ON port.id = member.port_id WHERE member.security_group_id = ?1`,
  address_scope: `SELECT project_id FROM ${SUBNETPOOLS.table} WHERE address_scope_id = ?1`,
  subnetpool: `SELECT project_id FROM ${SUBNETS.table} WHERE subnetpool_id = ?1`,
  address_group: `SELECT project_id FROM ${SECURITY_GROUP_RULES.table} WHERE remote_address_group_id = ?1`,
};

/** Returns the projects whose records use an object. */
export function projectsUsing({ sql }: NetworkContext, type: ShareableType, objectId: string): ReadonlySet<string> {
  return new Set(sql.strings(`SELECT DISTINCT project_id FROM (${USERS[type]})`, objectId));
}
