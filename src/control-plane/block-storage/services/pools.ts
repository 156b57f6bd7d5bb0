import type { BackEnd } from "../../../config/sections/block-storage-options.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { SERVICES, type Service } from "../resources/administration.js";
import type { VolumeType } from "../resources/types.js";

/** A pool of storage, with its service and what its volumes take. */
export interface Pool {
  /** `devstack@lvmdriver-1#lvmdriver-1` */
  readonly name: string;
  readonly backEnd: BackEnd;
  readonly service: Service;
  /** GiB of its volumes and snapshots. */
  readonly allocated: number;
}

/** Returns the pools of all back ends. */
export function listPools(context: BlockStorageContext): readonly Pool[] {
  const { host, backEnds } = context.services.options;
  return backEnds.flatMap((backEnd) => {
    const name = `${host}@${backEnd.name}`;
    const service = findService(context, "cinder-volume", name);
    const pool = `${name}#${backEnd.name}`;
    return service ? [{ name: pool, backEnd, service, allocated: allocatedIn(context, pool) }] : [];
  });
}

export function findService(context: BlockStorageContext, binary: string, host: string): Service | undefined {
  return context.table(SERVICES).first(where`binary = ${binary} AND host = ${host}`);
}

function allocatedIn({ sql }: BlockStorageContext, pool: string): number {
  return sql.number("SELECT coalesce(sum(size), 0) FROM block_storage_volumes WHERE host = ?", pool);
}

/** Returns the attributes of a pool with which the extra specs of types are compared. */
export function capabilitiesOf({ backEnd, allocated }: Pool, ratio: number) {
  return {
    pool_name: backEnd.name,
    total_capacity_gb: backEnd.capacity,
    free_capacity_gb: backEnd.capacity,
    reserved_percentage: 0,
    QoS_support: false,
    multiattach: true,
    thin_provisioning_support: true,
    thick_provisioning_support: false,
    max_over_subscription_ratio: ratio.toFixed(1),
    provisioned_capacity_gb: 0,
    backend_state: "up",
    consistent_group_snapshot_enabled: true,
    location_info: `LVMVolumeDriver:cinder:${backEnd.name}:thin:0`,
    allocated_capacity_gb: allocated,
    cacheable: true,
    volume_backend_name: backEnd.name,
    storage_protocol: "iSCSI",
    vendor_name: "Open Source",
    driver_version: "3.0.0",
  };
}

/** Whether a fault keeps the volume services from reporting, so that none gets a volume. */
export function isVolumeServiceDown({ services }: BlockStorageContext): boolean {
  return services.faults.peek("volume.service") !== undefined;
}

interface PoolRequest {
  /** GiB. */
  readonly size: number;
  readonly type: VolumeType | undefined;
  readonly availabilityZone: string | null;
}

/** Returns the pool with the most room that fits; undefined if none does. */
export function choosePool(context: BlockStorageContext, request: PoolRequest): string | undefined {
  const { maxOverSubscriptionRatio: ratio } = context.services.options;
  const isDown = isVolumeServiceDown(context);
  const fitting = listPools(context).filter((pool) => {
    const { service, backEnd, allocated } = pool;
    const isInZone = request.availabilityZone === null || request.availabilityZone === backEnd.availabilityZone;
    const hasRoom = allocated + request.size <= backEnd.capacity * ratio;
    return !service.disabled && !isDown && isInZone && hasRoom && meetsSpecs(pool, request.type, ratio);
  });
  const [roomiest] = fitting.sort((a, b) => b.backEnd.capacity - b.allocated - (a.backEnd.capacity - a.allocated));
  return roomiest?.name;
}

/** Whether a pool has the capabilities that a type's extra specs name. Those of another scope concern only drivers. */
export function meetsSpecs(pool: Pool, type: VolumeType | undefined, ratio: number): boolean {
  const capabilities: Readonly<Record<string, unknown>> = capabilitiesOf(pool, ratio);
  return Object.entries(type?.extra_specs ?? {}).every(([key, expected]) => {
    const [scope, name] = key.includes(":") ? key.split(":") : ["capabilities", key];
    if (scope !== "capabilities") {
      return true;
    }
    const found = capabilities[name ?? ""];
    const [, operator, operand = ""] = /^(<is>|<in>|=|==|>=|<=|s==)\s+(.*)$/.exec(expected) ?? [];
    switch (operator) {
      case "<is>":
        return found !== undefined && String(found) === operand.toLowerCase();
      case "<in>":
        return found !== undefined && String(found).includes(operand);
      case "=":
      case ">=":
        return Number(found) >= Number(operand);
      case "<=":
        return Number(found) <= Number(operand);
      case "==":
      case "s==":
        return found !== undefined && String(found) === operand;
      default:
        return found !== undefined && String(found).toLowerCase() === expected.toLowerCase();
    }
  });
}
