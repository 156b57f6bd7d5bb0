import type { Credentials } from "../../credentials.js";
import { type Check, parseRule } from "../../policy/rule-parser.js";
import { NetworkFault } from "./fault.js";

const OWNER = "project_id:%(project_id)s";
const READER = `rule:admin or ((role:reader or role:member) and ${OWNER})`;
const MEMBER = `rule:admin or (role:member and ${OWNER})`;

/** Neutron's default policies, as far as this service asks; the addresses of the shared network are everybody's here. */
const DEFAULT_RULES = {
  admin: "role:admin",
  get_network: "@",
  "get_network:provider": "rule:admin",
  create_network: MEMBER,
  update_network: MEMBER,
  delete_network: MEMBER,
  get_subnet: "@",
  create_subnet: MEMBER,
  update_subnet: MEMBER,
  delete_subnet: MEMBER,
  get_port: READER,
  "get_port:binding": "rule:admin or role:service",
  create_port: MEMBER,
  "create_port:mac_address": "rule:admin or role:service",
  update_port: MEMBER,
  "update_port:mac_address": "rule:admin or role:service",
  delete_port: MEMBER,
  get_security_group: READER,
  create_security_group: MEMBER,
  update_security_group: MEMBER,
  delete_security_group: MEMBER,
  get_security_group_rule: READER,
  create_security_group_rule: MEMBER,
  delete_security_group_rule: MEMBER,
  get_network_ip_availability: "rule:admin",
  get_auto_allocated_topology: READER,
  delete_auto_allocated_topology: MEMBER,
  get_quota: `rule:admin or ${OWNER}`,
  update_quota: "rule:admin",
  delete_quota: "rule:admin",
} as const satisfies Readonly<Record<string, string>>;

export type RuleName = keyof typeof DEFAULT_RULES;

const CHECKS: ReadonlyMap<string, Check> = new Map(
  Object.entries(DEFAULT_RULES).map(([name, rule]) => [name, parseRule(rule)]),
);

/** @param projectId the project that the thing belongs to */
export function may({ projectId: own, roles }: Credentials, name: RuleName, projectId?: string): boolean {
  const attributes = {
    credentials: own === null ? {} : { project_id: own },
    roles: new Set(roles),
    target: projectId === undefined ? {} : { project_id: projectId },
    rule: (other: string): boolean => CHECKS.get(other)?.(attributes) ?? false,
  };
  return attributes.rule(name);
}

/** @throws {NetworkFault} 403 */
export function enforce(caller: Credentials, name: RuleName, projectId?: string): void {
  if (!may(caller, name, projectId)) {
    throw new NetworkFault(403, "PolicyNotAuthorized", `rule:${name} is disallowed by policy`);
  }
}
