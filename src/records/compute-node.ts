import {
  amount,
  anyObject,
  type Field,
  hostName,
  id,
  integer,
  LONG,
  listOf,
  mapOf,
  name,
  nullable,
  type RecordOf,
  ratio,
  signed,
  text,
  time,
  uuid,
} from "./field.js";

/** What an agent writes of its node. */
export const COMPUTE_NODE_RESOURCES = {
  hostIp: nullable(text()),
  vcpus: amount,
  memoryMb: amount,
  localGb: amount,
  vcpusUsed: amount,
  memoryMbUsed: amount,
  localGbUsed: amount,
  /** May be negative. */
  freeRamMb: signed,
  /** May be negative. */
  freeDiskGb: signed,
  runningVms: amount,
  currentWorkload: amount,
  diskAvailableLeast: nullable(signed),
  hypervisorType: text(),
  hypervisorVersion: amount,
  /** JSON, or the empty string. */
  cpuInfo: text(LONG),
  supportedHvSpecs: listOf(listOf(text())) as unknown as Field<
    readonly (readonly [arch: string, hypervisor: string, vmMode: string])[]
  >,
  /** Never 0: reading a row with 0 or NULL rewrites it with the configured or initial ratio. */
  cpuAllocationRatio: ratio,
  ramAllocationRatio: ratio,
  diskAllocationRatio: ratio,
  stats: mapOf(text(LONG)),
  /** JSON list of monitor metrics. */
  metrics: text(LONG),
  numaTopology: nullable(text(LONG)),
  pciDevicePools: listOf(anyObject),
};

export type ComputeNodeResources = RecordOf<typeof COMPUTE_NODE_RESOURCES>;

/** What an agent may change of its node. */
export const COMPUTE_NODE_CHANGES = { ...COMPUTE_NODE_RESOURCES, host: hostName, serviceId: id };

export type ComputeNodeChanges = Partial<RecordOf<typeof COMPUTE_NODE_CHANGES>>;

/** A row of `compute_nodes` (spec 1.3). The provider in Placement has this uuid, and `hypervisorHostname` as its name. */
export const COMPUTE_NODE = {
  id,
  uuid,
  host: name,
  serviceId: nullable(id),
  hypervisorHostname: name,
  mapped: integer(0, 1),
  /** 0 while alive, else the row's id. */
  deleted: id,
  createdAt: time,
  updatedAt: nullable(time),
  ...COMPUTE_NODE_RESOURCES,
};

export type ComputeNode = RecordOf<typeof COMPUTE_NODE>;
