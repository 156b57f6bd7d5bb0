import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { limitsOf } from "./limits-of.js";
import { listQuotaResources, type Resource, UNLIMITED } from "./resources.js";
import { LIMITS_QUERY } from "./schemas.js";
import { createUsageReader } from "./usage.js";

/** Names in GET /limits, by resource. */
const LIMITS: Partial<Readonly<Record<Resource, readonly string[]>>> = {
  ram: ["maxTotalRAMSize"],
  instances: ["maxTotalInstances"],
  cores: ["maxTotalCores"],
  key_pairs: ["maxTotalKeypairs"],
  floating_ips: ["maxTotalFloatingIps"],
  metadata_items: ["maxServerMeta", "maxImageMeta"],
  injected_files: ["maxPersonality"],
  injected_file_content_bytes: ["maxPersonalitySize"],
  security_groups: ["maxSecurityGroups"],
  security_group_rules: ["maxSecurityGroupRules"],
  server_groups: ["maxServerGroups"],
  server_group_members: ["maxServerGroupMembers"],
};

const USED: readonly (readonly [name: string, resource: Resource])[] = [
  ["totalRAMUsed", "ram"],
  ["totalCoresUsed", "cores"],
  ["totalInstancesUsed", "instances"],
  ["totalFloatingIpsUsed", "floating_ips"],
  ["totalSecurityGroupsUsed", "security_groups"],
  ["totalServerGroupsUsed", "server_groups"],
];

/** Everybody with a token may know; `tenant_id` is for administrators, also where it names their own project. */
export function limits(deps: ComputeDeps, call: Call): ComputeResponse {
  const { version, query, credentials } = call;
  call.checkQuery(LIMITS_QUERY);
  const other = query.get("tenant_id");
  if (other !== undefined) {
    requireAdmin(call, "os_compute_api:limits:other_project");
  }
  const project = other ?? credentials.projectId ?? "";
  const resources = listQuotaResources(version);
  const most = limitsOf(deps, project, null);
  const inUse = createUsageReader(deps, project, null);
  const names = resources.flatMap((resource) =>
    (LIMITS[resource] ?? []).map((name) => [name, most[resource] ?? UNLIMITED] as const),
  );
  const absolute = {
    ...Object.fromEntries(names.filter(([name]) => name !== "maxImageMeta" || version < 39)),
    ...Object.fromEntries(
      USED.filter(([, resource]) => resources.includes(resource)).map(([name, resource]) => [name, inUse(resource)]),
    ),
  };
  return { body: { limits: { rate: [], absolute } } };
}
