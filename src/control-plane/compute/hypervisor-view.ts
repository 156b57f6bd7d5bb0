import type { ComputeNode, Service } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import type { Json } from "../http/json.js";
import type { ComputeNodeAmount } from "../store/compute-nodes.js";
import { isUp } from "./api/agents.js";
import type { ComputeDeps } from "./api/deps.js";

/** A node and its nova-compute service. */
export interface Hypervisor {
  readonly node: ComputeNode;
  readonly service: Service;
}

export type HypervisorView = { readonly [key: string]: Json };

export interface HypervisorViewOptions {
  readonly version: number;
  readonly detail: boolean;
  /** Only in details since 2.88; null if the host does not report it. */
  readonly uptime: string | null;
  /** Names and uuids of the servers on the host; undefined if not requested. */
  readonly servers?: readonly { readonly name: string; readonly uuid: string }[] | undefined;
}

export function hypervisorView(
  deps: Pick<ComputeDeps, "clock" | "serviceDownTime">,
  { node, service }: Hypervisor,
  { version, detail, uptime, servers }: HypervisorViewOptions,
): HypervisorView {
  return {
    id: version >= 53 ? node.uuid : node.id,
    hypervisor_hostname: node.hypervisorHostname,
    state: isUp(deps, service) ? "up" : "down",
    status: service.disabled ? "disabled" : "enabled",
    ...(detail
      ? {
          hypervisor_type: node.hypervisorType,
          hypervisor_version: node.hypervisorVersion,
          host_ip: node.hostIp,
          service: {
            id: version >= 53 ? service.uuid : service.id,
            host: node.host,
            disabled_reason: service.disabledReason,
          },
          ...(version >= 88 ? { uptime } : { ...amounts(node), cpu_info: cpuInfo(node, version) }),
        }
      : {}),
    ...(servers && (servers.length > 0 || version >= 75)
      ? { servers: servers.map(({ name, uuid }) => ({ name, uuid })) }
      : {}),
  };
}

/** Returns the amounts that 2.88 removed from the API in favour of Placement. */
export function amounts(node: Pick<ComputeNode, ComputeNodeAmount>): { readonly [key: string]: number | null } {
  return {
    vcpus: node.vcpus,
    memory_mb: node.memoryMb,
    local_gb: node.localGb,
    vcpus_used: node.vcpusUsed,
    memory_mb_used: node.memoryMbUsed,
    local_gb_used: node.localGbUsed,
    free_ram_mb: node.freeRamMb,
    free_disk_gb: node.freeDiskGb,
    current_workload: node.currentWorkload,
    running_vms: node.runningVms,
    disk_available_least: node.diskAvailableLeast,
  };
}

/** Returns a string before 2.28 and an object since. */
function cpuInfo({ cpuInfo: text }: ComputeNode, version: number): Json {
  if (version < 28) {
    return text;
  }
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as Json) : {};
  } catch {
    return {};
  }
}
