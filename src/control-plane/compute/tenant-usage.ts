import type { Instance } from "../../records/index.js";
import { badRequest } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { schemas } from "../http/schemas.js";
import { isoMicroseconds, parseIsoTime } from "../http/times.js";
import {
  type Call,
  type ComputeResponse,
  type ComputeRoute,
  denied,
  type Page,
  readPage,
  requireAdmin,
  requireReader,
} from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { INTEGER_TEXT, MULTI } from "./api/schema-parts.js";

/** A period in milliseconds since the epoch. */
interface UsagePeriod {
  readonly start: number;
  readonly stop: number;
}

interface Sums {
  readonly usages: Json[];
  localGb: number;
  vcpus: number;
  memoryMb: number;
  hours: number;
}

const HOUR = 3_600_000;

const PERIOD_PARAMETERS = { start: MULTI(), end: MULTI() };

const paging = { limit: MULTI(INTEGER_TEXT), marker: MULTI() };

function querySchemas(properties: Readonly<Record<string, unknown>>) {
  return schemas(
    [1, { type: "object", properties, additionalProperties: true }],
    [40, { type: "object", properties: { ...properties, ...paging }, additionalProperties: true }],
    [75, { type: "object", properties: { ...properties, ...paging }, additionalProperties: false }],
  );
}

const LIST_QUERY = querySchemas({ ...PERIOD_PARAMETERS, detailed: MULTI() });

const SHOW_QUERY = querySchemas(PERIOD_PARAMETERS);

const POLICY = "os_compute_api:os-simple-tenant-usage";

export const TENANT_USAGE_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-simple-tenant-usage", handle: listUsages },
  { method: "GET", path: "/os-simple-tenant-usage/:id", handle: showUsage },
];

function listUsages(deps: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(LIST_QUERY);
  requireAdmin(call, `${POLICY}:list`);
  const detailed = call.query.get("detailed") === "1";
  const { usages, links } = read(deps, call, "os-simple-tenant-usage", { detailed });
  return { body: { tenant_usages: usages, ...(links ? { tenant_usages_links: links } : {}) } };
}

function showUsage(deps: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(SHOW_QUERY);
  const projectId = call.param("id");
  const rule = `${POLICY}:show`;
  requireReader(call, rule);
  if (!call.isAdmin && call.credentials.projectId !== projectId) {
    throw denied(rule);
  }
  const path = `os-simple-tenant-usage/${projectId}`;
  const { usages, links } = read(deps, call, path, { detailed: true, projectId });
  return { body: { tenant_usage: usages[0] ?? {}, ...(links ? { tenant_usage_links: links } : {}) } };
}

interface Read {
  readonly usages: readonly Json[];
  /** Undefined on the last page. */
  readonly links: Json | undefined;
}

/** @throws {HttpError} 400 */
function read(
  { store, clock }: ComputeDeps,
  call: Call,
  path: string,
  { detailed, projectId }: { readonly detailed: boolean; readonly projectId?: string },
): Read {
  const now = clock.now();
  const requestedPeriod = readPeriod(call, now);
  const paged = call.version >= 40;
  const { limit, marker }: Page = paged ? readPage(call) : { limit: MAX_UNPAGED_SERVERS, marker: undefined };
  const window = { begin: requestedPeriod.start, end: requestedPeriod.stop, limit, marker };
  const instances = store.instances.activeWithin(projectId === undefined ? window : { ...window, projectId });
  if (instances === null) {
    throw badRequest(`Marker ${marker} could not be found.`);
  }
  const last: Instance | undefined = instances.at(-1);
  const more = paged && last !== undefined && instances.length === limit;
  return {
    usages: usagesOf(instances, requestedPeriod, { now, detailed }),
    links: more ? call.links.next(path, call.query, last.uuid) : undefined,
  };
}

/** Max servers that count before paging was introduced: Nova's `[api] max_limit`. */
const MAX_UNPAGED_SERVERS = 1000;

/** Parses the period. Missing times default to now; the future is cut off. @throws {HttpError} 400 */
function readPeriod({ query }: Call, now: number): UsagePeriod {
  const [from, to] = [query.get("start") ?? "", query.get("end") ?? ""];
  const start = from === "" ? now : readTime(from);
  const stop = to === "" ? now : readTime(to);
  if (start >= stop && !(from === "" && to === "")) {
    throw badRequest("Invalid start time. The start time cannot occur after the end time.");
  }
  return { start, stop: Math.min(stop, now) };
}

/** `2026-01-31T12:34:56` with an optional fraction. With a blank instead of the `T` the fraction is required. */
const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,6})?| \d\d:\d\d:\d\d\.\d{1,6})$/;

function readTime(text: string): number {
  const time = TIME.test(text) ? parseIsoTime(text) : undefined;
  if (time === undefined) {
    throw badRequest("Invalid datetime string: Datetime is in invalid format");
  }
  return time;
}

/** Sums up the usage of projects in a period, in the order of their servers. */
function usagesOf(
  instances: readonly Instance[],
  period: UsagePeriod,
  { now, detailed }: { readonly now: number; readonly detailed: boolean },
): readonly Json[] {
  const projects = new Map<string, Sums>();
  for (const instance of instances) {
    const sums = projects.get(instance.projectId) ?? { usages: [], localGb: 0, vcpus: 0, memoryMb: 0, hours: 0 };
    projects.set(instance.projectId, sums);
    const { hours, localGb, view } = usageOf(instance, period, now);
    sums.localGb += localGb * hours;
    sums.vcpus += instance.flavor.vcpus * hours;
    sums.memoryMb += instance.flavor.memoryMb * hours;
    sums.hours += hours;
    sums.usages.push(view);
  }
  return [...projects].map(([id, { usages, localGb, vcpus, memoryMb, hours }]) => ({
    tenant_id: id,
    ...(detailed ? { server_usages: usages } : {}),
    total_local_gb_usage: localGb,
    total_vcpus_usage: vcpus,
    total_memory_mb_usage: memoryMb,
    total_hours: hours,
    start: isoMicroseconds(period.start),
    stop: isoMicroseconds(period.stop),
  }));
}

function usageOf(instance: Instance, period: UsagePeriod, now: number) {
  const { flavor, launchedAt, terminatedAt } = instance;
  const hours = hoursIn(instance, period);
  const localGb = flavor.rootGb + flavor.ephemeralGb;
  const view: Json = {
    hours,
    flavor: flavor.name,
    instance_id: instance.uuid,
    name: instance.displayName,
    tenant_id: instance.projectId,
    memory_mb: flavor.memoryMb,
    local_gb: localGb,
    vcpus: flavor.vcpus,
    started_at: launchedAt === null ? null : isoMicroseconds(launchedAt),
    ended_at: terminatedAt === null ? null : isoMicroseconds(terminatedAt),
    state: terminatedAt === null ? instance.vmState : "terminated",
    uptime: launchedAt === null ? 0 : Math.trunc(((terminatedAt ?? now) - launchedAt) / 1000),
  };
  return { hours, localGb, view };
}

/** Returns a server's hours from launch to termination, in any power state. */
function hoursIn({ launchedAt, terminatedAt }: Instance, { start, stop }: UsagePeriod): number {
  if (launchedAt === null || launchedAt > stop || (terminatedAt !== null && terminatedAt < start)) {
    return 0;
  }
  return (Math.min(stop, terminatedAt ?? stop) - Math.max(launchedAt, start)) / HOUR;
}
