import {
  amount,
  anyObject,
  type Field,
  flag,
  hostName,
  id,
  integer,
  LONG,
  listOf,
  mapOf,
  name,
  nullable,
  oneOf,
  type RecordOf,
  ratio,
  signed,
  text,
  time,
  uuid,
} from "./field.js";
import { RELEASES } from "./release.js";

/** A row of `services` (spec 1.2). */
export const SERVICE = {
  id,
  uuid,
  host: name,
  /** `nova-compute`, `nova-conductor`, `nova-scheduler` */
  binary: name,
  topic: text(),
  reportCount: id,
  /** The last heartbeat; null before the first one. */
  lastSeenUp: nullable(time),
  disabled: flag,
  disabledReason: nullable(text()),
  /** Set by operators to fence the host; an agent never changes it. */
  forcedDown: flag,
  /** The service version; see {@link SERVICE_VERSION}. */
  version: amount,
  availabilityZone: text(),
  createdAt: time,
  updatedAt: nullable(time),
};

export type Service = RecordOf<typeof SERVICE>;

/** The service version of this build: that of Nova 34 (2026.2). OWNER_NOVA exists since 73. */
export const SERVICE_VERSION: number = RELEASES.hibiscus;

/**
 * The oldest agent that a deployment may contain unless `[workarounds] disable_compute_service_check_for_ffu` is set.
 */
export const OLDEST_SUPPORTED_SERVICE_VERSION = 72;

/** From this version on, agents have a `compute_id` file (spec 2.3). */
export const COMPUTE_ID_SERVICE_VERSION = 65;

/** From this version on, moves use migration-owned allocations (spec 6.0). */
export const SPLIT_ALLOCATIONS_SERVICE_VERSION = 23;

/** The columns of a node that the agent writes. */
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
  /** JSON or empty. */
  cpuInfo: text(LONG),
  supportedHvSpecs: listOf(listOf(text())) as unknown as Field<
    readonly (readonly [arch: string, hypervisor: string, vmMode: string])[]
  >,
  /** Never 0: reading a row with 0 or NULL rewrites it with the configured or initial ratio. */
  cpuAllocationRatio: ratio,
  ramAllocationRatio: ratio,
  diskAllocationRatio: ratio,
  stats: mapOf(text(LONG)),
  /** A JSON list of monitor metrics. */
  metrics: text(LONG),
  numaTopology: nullable(text(LONG)),
  pciDevicePools: listOf(anyObject),
};

export type ComputeNodeResources = RecordOf<typeof COMPUTE_NODE_RESOURCES>;

/** The columns of a node that an agent may change. */
export const COMPUTE_NODE_CHANGES = { ...COMPUTE_NODE_RESOURCES, host: hostName, serviceId: id };

export type ComputeNodeChanges = Partial<RecordOf<typeof COMPUTE_NODE_CHANGES>>;

/**
 * A row of `compute_nodes` (spec 1.3). Its provider in Placement has the same uuid, and `hypervisorHostname` as name.
 */
export const COMPUTE_NODE = {
  id,
  uuid,
  host: name,
  serviceId: nullable(id),
  hypervisorHostname: name,
  mapped: integer(0, 1),
  /** 0 while the row is not deleted, else the row's id. */
  deleted: id,
  createdAt: time,
  updatedAt: nullable(time),
  ...COMPUTE_NODE_RESOURCES,
};

export type ComputeNode = RecordOf<typeof COMPUTE_NODE>;

/** A host's record of the usage audit of a period: a row of `task_log`. */
export const TASK_LOG = {
  taskName: name,
  host: name,
  periodBeginning: time,
  periodEnding: time,
  state: oneOf(["RUNNING", "DONE"]),
  message: text(),
  /** The number of audited instances. */
  taskItems: amount,
  errors: amount,
};

export type TaskLog = RecordOf<typeof TASK_LOG>;

/** The task_name of usage audits. */
export const USAGE_AUDIT = "instance_usage_audit";
