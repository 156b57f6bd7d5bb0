import type { CloudSession } from "./cloud-session.js";
import { type NamedServer, type ServerStatus, type ServiceView, serverStatus } from "./cluster-status.js";

/** Totals of a cluster with many hosts. They need few requests, regardless of the number of hosts. */
export interface ClusterSummary {
  readonly hosts: number;
  /** Host names in the order of their services. */
  readonly down: readonly string[];
  readonly disabled: readonly string[];
  /** Used and total amounts as compute nodes report them. */
  readonly usages: Readonly<
    Record<"VCPU" | "MEMORY_MB" | "DISK_GB", { readonly used: number; readonly total: number }>
  >;
  readonly runningGuests: number;
  readonly serversInError: number;
  /** True if there are more servers in error than one response contains. */
  readonly moreInError: boolean;
  /** The most recently updated servers in error, with their faults. */
  readonly recentInError: readonly ServerStatus[];
}

/** The last microversion with hypervisor statistics. */
const LAST_STATISTICS = "2.87";

/**
 * Summarizes the cluster; null if it has at most `most` hosts, which fit in a table.
 * @param maxFaults max length of `recentInError`
 */
export async function clusterSummary(
  session: CloudSession,
  most: number,
  maxFaults: number,
): Promise<ClusterSummary | null> {
  const compute = (path: string) => session.request("compute", "GET", path, LAST_STATISTICS);
  const { services } = (await compute("/os-services?binary=nova-compute")) as { services: readonly ServiceView[] };
  if (services.length <= most) {
    return null;
  }
  const recent = `/servers/detail?all_tenants=True&status=ERROR&sort_key=updated_at&sort_dir=desc&limit=${maxFaults}`;
  const [{ hypervisor_statistics: sums }, inError, { servers: recentInError }] = await Promise.all([
    compute("/os-hypervisors/statistics") as Promise<{ hypervisor_statistics: Readonly<Record<string, number>> }>,
    compute("/servers?all_tenants=True&status=ERROR") as Promise<{
      servers: readonly unknown[];
      servers_links?: unknown;
    }>,
    compute(recent) as Promise<{ servers: readonly NamedServer[] }>,
  ]);
  const amount = (name: string) => ({ used: sums[`${name}_used`] ?? 0, total: sums[name] ?? 0 });
  return {
    hosts: services.length,
    down: services.filter(({ state }) => state === "down").map(({ host }) => host),
    disabled: services.filter(({ status }) => status === "disabled").map(({ host }) => host),
    usages: { VCPU: amount("vcpus"), MEMORY_MB: amount("memory_mb"), DISK_GB: amount("local_gb") },
    runningGuests: sums.running_vms ?? 0,
    serversInError: inError.servers.length,
    moreInError: inError.servers_links !== undefined,
    recentInError: recentInError.map(serverStatus),
  };
}
