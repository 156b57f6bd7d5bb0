/** Fixed ids of the rules that new groups get unless an administrator changes them. */
const TEMPLATES = [
  ["d5000000-0000-4000-8000-000000000001", "egress", "IPv4"],
  ["d5000000-0000-4000-8000-000000000002", "egress", "IPv6"],
  ["d5000000-0000-4000-8000-000000000003", "ingress", "IPv4"],
  ["d5000000-0000-4000-8000-000000000004", "ingress", "IPv6"],
] as const;

const ROWS = TEMPLATES.map(([id, direction, ethertype]) => {
  const isIngress = direction === "ingress";
  const description = `Legacy default SG rule for ${direction} traffic`;
  return `('${id}', '${description}', '${direction}', '${ethertype}', ${isIngress ? "'PARENT'" : "NULL"}, 1, ${isIngress ? 0 : 1})`;
});

/** Statements that create Neutron's rules for new groups once: all may send, and members of `default` reach each other. */
export const DEFAULT_RULES_SQL = [
  `INSERT INTO network_default_security_group_rules
    (id, description, direction, ethertype, remote_group_id, used_in_default_sg, used_in_non_default_sg)
    SELECT * FROM (VALUES ${ROWS.join(", ")})
    WHERE NOT EXISTS (SELECT 1 FROM network_start WHERE name = 'default-security-group-rules')`,
  "INSERT OR IGNORE INTO network_start VALUES ('default-security-group-rules')",
];
