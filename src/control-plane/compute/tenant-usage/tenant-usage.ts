import type { Instance } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";

const HOUR = 3_600_000;

/** Milliseconds since the epoch. */
export interface UsagePeriod {
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

/** What projects have used in a period, in the order in which their servers come. */
export function usagesOf(
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

/** A server counts from its launch to its end, whatever its power state. */
function hoursIn({ launchedAt, terminatedAt }: Instance, { start, stop }: UsagePeriod): number {
  if (launchedAt === null || launchedAt > stop || (terminatedAt !== null && terminatedAt < start)) {
    return 0;
  }
  return (Math.min(stop, terminatedAt ?? stop) - Math.max(launchedAt, start)) / HOUR;
}
