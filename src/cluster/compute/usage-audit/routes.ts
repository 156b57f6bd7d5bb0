import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { Answer, Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { requireAdmin } from "../api/policy.js";
import { allServices } from "../services/all-services.js";
import { lastCompletedPeriod } from "./audit-period.js";

const policy = (what: string): string => `os_compute_api:os-instance-usage-audit-log:${what}`;

export const USAGE_AUDIT_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-instance_usage_audit_log", answer: showLast },
  { method: "GET", path: "/os-instance_usage_audit_log/:before", answer: showBefore },
];

async function showLast(deps: ComputeDeps, call: Call): Promise<Answer> {
  requireAdmin(call, policy("list"));
  const now = isoMicroseconds(deps.clock.now()).replace("T", " ");
  return { body: { instance_usage_audit_logs: await auditLog(deps, now) } };
}

async function showBefore(deps: ComputeDeps, call: Call): Promise<Answer> {
  requireAdmin(call, policy("show"));
  return { body: { instance_usage_audit_log: await auditLog(deps, call.param("before")) } };
}

/**
 * What hosts have noted of their audits of the last period before a time: nothing, as `[DEFAULT] instance_usage_audit` is off, which is
 * Nova's default. @throws {Fault} 400
 */
async function auditLog(deps: ComputeDeps, before: string): Promise<Json> {
  const period = lastCompletedPeriod(before);
  if (period === undefined) {
    throw badRequest(`Invalid timestamp for date ${before}`);
  }
  const hosts: string[] = [];
  for await (const services of allServices(deps, { binary: "nova-compute" })) {
    hosts.push(...services.map(({ host }) => host));
  }
  return {
    period_beginning: period.begin,
    period_ending: period.end,
    num_hosts: hosts.length,
    num_hosts_done: 0,
    num_hosts_running: 0,
    num_hosts_not_run: hosts.length,
    hosts_not_run: hosts,
    total_instances: 0,
    total_errors: 0,
    overall_status: `${hosts.length === 0 ? "ALL" : `0 of ${hosts.length}`} hosts done. 0 errors.`,
    log: {},
  };
}
