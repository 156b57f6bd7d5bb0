import type { Json } from "../../http/json.js";
import type { Answer, Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin, requireReader } from "../api/policy.js";
import { RESOURCES, UNLIMITED, usageOf } from "./resources.js";

/** Nothing is limited, and nothing can be: quotas are there to be read. */
export const QUOTA_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/limits", answer: limits },
  { method: "GET", path: "/os-quota-sets/:project", answer: (_deps, call) => quotaSet(() => UNLIMITED, "show", call) },
  {
    method: "GET",
    path: "/os-quota-sets/:project/defaults",
    answer: (_deps, call) => quotaSet(() => UNLIMITED, "defaults", call),
  },
  {
    method: "GET",
    path: "/os-quota-sets/:project/detail",
    answer: (deps, call) => {
      const usage = usageOf(deps, call.param("project"));
      return quotaSet((name) => ({ in_use: usage[name] ?? 0, limit: UNLIMITED, reserved: 0 }), "detail", call);
    },
  },
  {
    method: "GET",
    path: "/os-quota-class-sets/:name",
    answer: (_deps, call) => {
      requireAdmin(call, "os_compute_api:os-quota-class-sets:show");
      const shown = RESOURCES.filter(([, until]) => call.version < until).map(([name]) => [name, UNLIMITED]);
      return { body: { quota_class_set: { id: call.param("name"), ...Object.fromEntries(shown) } } };
    },
  },
];

function quotaSet(value: (name: string) => Json, rule: string, call: Call): Answer {
  const project = call.param("project");
  const policy = `os_compute_api:os-quota-sets:${rule}`;
  if (project === call.credentials.projectId) {
    requireReader(call, policy);
  } else {
    requireAdmin(call, policy);
  }
  const shown = RESOURCES.filter(([, until]) => call.version < until).map(([name]) => [name, value(name)]);
  return { body: { quota_set: { id: project, ...Object.fromEntries(shown) } } };
}

/** Names in GET /limits, by resource. */
const LIMITS: Readonly<Record<string, readonly string[]>> = {
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

const USED: readonly (readonly [shown: string, resource: string])[] = [
  ["totalRAMUsed", "ram"],
  ["totalCoresUsed", "cores"],
  ["totalInstancesUsed", "instances"],
  ["totalFloatingIpsUsed", "floating_ips"],
  ["totalSecurityGroupsUsed", "security_groups"],
  ["totalServerGroupsUsed", "server_groups"],
];

function limits(deps: ComputeDeps, call: Call): Answer {
  const { version, query, credentials } = call;
  requireReader(call, "os_compute_api:limits");
  const other = query.get("tenant_id");
  if (other !== undefined && other !== credentials.projectId) {
    requireAdmin(call, "os_compute_api:limits:other_project");
  }
  const shown = new Set(RESOURCES.filter(([, until]) => version < until).map(([name]) => name));
  const names = Object.entries(LIMITS)
    .filter(([resource]) => shown.has(resource))
    .flatMap(([, all]) => all)
    .filter((name) => name !== "maxImageMeta" || version < 39);
  const usage = usageOf(deps, other ?? credentials.projectId ?? "");
  const used = USED.filter(([, resource]) => shown.has(resource)).map(([name, of]) => [name, usage[of] ?? 0]);
  const absolute = { ...Object.fromEntries(names.map((name) => [name, UNLIMITED])), ...Object.fromEntries(used) };
  return { body: { limits: { rate: [], absolute } } };
}
