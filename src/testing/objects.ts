import { defaultsOf } from "../records/field.js";
import { flavorColumns, MIGRATION, newFlavor, newInstance } from "../records/index.js";
import type { Flavor, ImageMeta, Instance, InventoryOptions, Migration } from "../virt/index.js";
import { LOCAL_DISKS } from "../virt/local-disks.js";

/** Frozen to the bottom: a driver that writes to what it is given fails. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) {
      frozen(member);
    }
  }
  return value;
}

export function flavorOf(changes: Partial<Flavor> = {}): Flavor {
  const small = { flavorid: "check.small", name: "check.small", vcpus: 1, memoryMb: 512, rootGb: 1 };
  return { id: 1, ...newFlavor(small), ...changes };
}

const IMAGE_ID = "33333333-3333-4333-8333-333333333333";

export function imageOf(changes: Partial<ImageMeta> = {}): ImageMeta {
  return {
    id: IMAGE_ID,
    name: "cirros",
    diskFormat: "qcow2",
    containerFormat: "bare",
    minDisk: 0,
    minRam: 0,
    properties: {},
    ...changes,
  };
}

/** An active server of `flavor`, placed on `host` and `node`. */
export function instanceOf(
  place: { readonly uuid: string; readonly host: string; readonly node: string; readonly flavor: Flavor },
  changes: Partial<Instance> = {},
): Instance {
  return {
    ...newInstance({
      uuid: place.uuid,
      projectId: "0123456789abcdef0123456789abcdef",
      userId: "fedcba9876543210fedcba9876543210",
      displayName: `check-${place.uuid.slice(0, 8)}`,
      hostname: `check-${place.uuid.slice(0, 8)}`,
      reservationId: "r-check",
      imageRef: IMAGE_ID,
      flavor: place.flavor,
    }),
    id: 1,
    host: place.host,
    node: place.node,
    computeId: 1,
    launchedOn: place.host,
    vmState: "active",
    taskState: null,
    powerState: 1,
    createdAt: 0,
    ...changes,
  };
}

/** The instance with another flavor, as a resize leaves it. */
export function resizedTo(instance: Instance, flavor: Flavor, changes: Partial<Instance> = {}): Instance {
  return frozen({ ...instance, oldFlavor: instance.flavor, ...flavorColumns(flavor), ...changes });
}

export function migrationOf(
  instance: Instance,
  destination: { readonly host: string; readonly node: string; readonly ip: string },
  changes: Partial<Migration> = {},
): Migration {
  return frozen({
    ...defaultsOf(MIGRATION),
    id: 1,
    uuid: "44444444-4444-4444-8444-444444444444",
    instanceUuid: instance.uuid,
    migrationType: "migration",
    status: "migrating",
    sourceCompute: instance.host ?? "",
    sourceNode: instance.node ?? "",
    destCompute: destination.host,
    destNode: destination.node,
    destComputeId: 2,
    destHost: destination.ip,
    oldInstanceTypeId: instance.instanceTypeId,
    newInstanceTypeId: instance.instanceTypeId,
    createdAt: 0,
    ...changes,
  });
}

/** No ports, local disks only. */
export const DEVICES = frozen({ network: [], blockDevices: LOCAL_DISKS });

/** An agent's options about its inventory: the defaults, with nothing reserved. */
export const INVENTORY: InventoryOptions = {
  cpuAllocationRatio: null,
  ramAllocationRatio: null,
  diskAllocationRatio: null,
  initialCpuAllocationRatio: 4,
  initialRamAllocationRatio: 1,
  initialDiskAllocationRatio: 1,
  reservedHostCpus: 0,
  reservedHostMemoryMb: 0,
  reservedHostDiskMb: 0,
};
