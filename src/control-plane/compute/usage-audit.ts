import { lastCompletedPeriod } from "../../records/index.js";
import { badRequest } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { isoMicroseconds, isoSeconds } from "../http/times.js";
import { allServices } from "./api/agents.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";

const policy = (what: string): string => `os_compute_api:os-instance-usage-audit-log:${what}`;

export const USAGE_AUDIT_ROUTES = routes<ComputeRoute>({
  "GET /os-instance_usage_audit_log": showLast,
  "GET /os-instance_usage_audit_log/:before": showBefore,
});

async function showLast(call: Call): Promise<ComputeResponse> {
  requireAdmin(call, policy("list"));
  const now = isoMicroseconds(call.deps.clock.now()).replace("T", " ");
  return { body: { instance_usage_audit_logs: await auditLog(call.deps, now) } };
}

async function showBefore(call: Call): Promise<ComputeResponse> {
  requireAdmin(call, policy("show"));
  return { body: { instance_usage_audit_log: await auditLog(call.deps, call.param("before")) } };
}

/** Summarizes the audit records that hosts wrote for the last period completed before a time. @throws {HttpError} 400 */
async function auditLog(deps: ComputeDeps, text: string): Promise<Json> {
  const before = timeIn(text);
  if (before === undefined) {
    throw badRequest(`Invalid timestamp for date ${text}`);
  }
  const period = lastCompletedPeriod(deps.auditPeriod, before);
  const hosts: string[] = [];
  for await (const services of allServices(deps, { binary: "nova-compute" })) {
    hosts.push(...services.map(({ host }) => host));
  }
  const logs = deps.store.taskLogs.list(period);
  const loggedHosts = new Set(logs.map(({ host }) => host));
  const missing = hosts.filter((host) => !loggedHosts.has(host));
  const done = logs.filter(({ state }) => state === "DONE").length;
  const errors = logs.reduce((sum, log) => sum + log.errors, 0);
  return {
    period_beginning: formatTime(period.begin),
    period_ending: formatTime(period.end),
    num_hosts: hosts.length,
    num_hosts_done: done,
    num_hosts_running: logs.length - done,
    num_hosts_not_run: missing.length,
    hosts_not_run: missing,
    total_instances: logs.reduce((sum, { taskItems }) => sum + taskItems, 0),
    total_errors: errors,
    overall_status: `${done === hosts.length ? "ALL" : `${done} of ${hosts.length}`} hosts done. ${errors} errors.`,
    log: Object.fromEntries(
      logs.map(({ host, state, taskItems, errors: failed, message }) => [
        host,
        { state, instances: taskItems, errors: failed, message },
      ]),
    ),
  };
}

const TIME = /^(\d{4})-(\d{1,2})-(\d{1,2})\s+(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?$/;

/**
 * Parses a time in Python's format to milliseconds since the epoch, rounded up. Returns undefined for any other string.
 */
function timeIn(text: string): number | undefined {
  const parts = TIME.exec(text)?.slice(1);
  const [year = "", month = "", day = "", hour = "", minute = "", second = "", fraction = ""] = parts ?? [];
  const two = (part: string) => part.padStart(2, "0");
  const normalized = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`;
  const time = Date.parse(`${normalized}Z`);
  // Dates that would roll over, such as February 30, and the year 0 are invalid.
  const isTime = parts !== undefined && year !== "0000" && !Number.isNaN(time) && isoSeconds(time) === `${normalized}Z`;
  return isTime ? time + Math.ceil(Number(fraction.padEnd(6, "0")) / 1000) : undefined;
}

const formatTime = (time: number): string => isoSeconds(time).slice(0, 19).replace("T", " ");
