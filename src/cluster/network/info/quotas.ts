import type { NetworkAnswer, NetworkCall, NetworkRoute } from "../api/call.js";
import { NetworkFault } from "../api/fault.js";
import { enforce } from "../api/policy.js";
import { refuseChange } from "../flat/refuse-change.js";

/** Neutron's defaults; ports are as many as there are servers, which Compute has quotas for. */
export const QUOTAS = {
  network: 0,
  subnet: 0,
  subnetpool: 0,
  port: -1,
  router: 0,
  floatingip: 0,
  rbac_policy: 0,
  security_group: 10,
  security_group_rule: 100,
} as const;

/** @throws {NetworkFault} 409 */
export function refuseOverQuota(resource: keyof typeof QUOTAS, used: number, limit: number): void {
  if (used >= limit) {
    throw new NetworkFault(409, "OverQuota", `Quota exceeded for resources: ['${resource}'].`);
  }
}

export const QUOTA_ROUTES: readonly NetworkRoute[] = [
  {
    method: "GET",
    path: "/v2.0/quotas",
    answer: ({ caller }) => {
      enforce(caller, "update_quota");
      return { body: { quotas: [] } };
    },
  },
  { method: "GET", path: "/v2.0/quotas/:project", answer: showQuota },
  { method: "GET", path: "/v2.0/quotas/:project/default", answer: showQuota },
  { method: "GET", path: "/v2.0/quotas/:project/details", answer: showUsage },
  { method: "PUT", path: "/v2.0/quotas/:project", answer: refuseQuotas },
  { method: "DELETE", path: "/v2.0/quotas/:project", answer: refuseQuotas },
];

function showQuota(call: NetworkCall): NetworkAnswer {
  enforce(call.caller, "get_quota", call.param("project"));
  return { body: { quota: QUOTAS } };
}

function showUsage(call: NetworkCall): NetworkAnswer {
  const project = call.param("project");
  enforce(call.caller, "get_quota", project);
  const { ports, securityGroups } = call.store;
  const used: Partial<Record<keyof typeof QUOTAS, number>> = {
    port: ports.count(project),
    security_group: securityGroups.count(project),
    security_group_rule: securityGroups.countRules(project),
  };
  const details = Object.entries(QUOTAS).map(([name, limit]) => {
    return [name, { limit, used: used[name as keyof typeof QUOTAS] ?? 0, reserved: 0 }] as const;
  });
  return { body: { quota: Object.fromEntries(details) } };
}

function refuseQuotas({ caller }: NetworkCall): never {
  enforce(caller, "update_quota");
  return refuseChange("its quotas are fixed");
}
