import {
  type AllocationsByProvider,
  type AssignedResource,
  type ComputeNodeResources,
  type DestinationFailure,
  type Flavor,
  type InstanceChanges,
  MIGRATION_STATUSES,
  MIGRATION_TYPES,
  type MigrationChanges,
  type MigrationContext,
  POWER_STATES,
  type RetryInfo,
  type Selection,
  TASK_STATES,
  VM_STATES,
} from "../../../conductor/records/index.js";
import {
  amount,
  anyObject,
  flag,
  id,
  integer,
  listOf,
  mapOf,
  name,
  nullable,
  object,
  oneOf,
  oneOfNumbers,
  optional,
  partial,
  ratio,
  type Schema,
  signed,
  text,
  uuid,
} from "./schema.js";

const LONG = 65_535;

export const vmState = oneOf(VM_STATES);
export const taskState = nullable(oneOf(TASK_STATES));
export const migrationType = oneOf(MIGRATION_TYPES);
export const migrationStatus = oneOf(MIGRATION_STATUSES);

export const computeNodeResources: { readonly [K in keyof ComputeNodeResources]-?: Schema } = {
  hostIp: nullable(text()),
  vcpus: amount,
  memoryMb: amount,
  localGb: amount,
  vcpusUsed: amount,
  memoryMbUsed: amount,
  localGbUsed: amount,
  freeRamMb: signed,
  freeDiskGb: signed,
  runningVms: amount,
  currentWorkload: amount,
  diskAvailableLeast: nullable(signed),
  hypervisorType: text(),
  hypervisorVersion: amount,
  cpuInfo: text(LONG),
  supportedHvSpecs: listOf(listOf(text())),
  cpuAllocationRatio: ratio,
  ramAllocationRatio: ratio,
  diskAllocationRatio: ratio,
  stats: mapOf(text(LONG)),
  metrics: text(LONG),
  numaTopology: nullable(text(LONG)),
  pciDevicePools: listOf(anyObject),
};

export const flavor = object<Flavor>({
  id,
  flavorid: text(),
  name: text(),
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: amount,
  swap: amount,
  rxtxFactor: ratio,
  disabled: flag,
  isPublic: flag,
  extraSpecs: mapOf(text()),
  description: nullable(text(LONG)),
});

const assignedResources = listOf(
  object<AssignedResource>({ providerUuid: uuid, resourceClass: text(), identifier: text() }),
);

const migrationContext = object<MigrationContext>({
  instanceUuid: uuid,
  migrationId: id,
  oldNumaTopology: nullable(text(LONG)),
  newNumaTopology: nullable(text(LONG)),
  oldPciDevices: listOf(text()),
  newPciDevices: listOf(text()),
  oldResources: assignedResources,
  newResources: assignedResources,
});

export const instanceChanges = object<InstanceChanges>(
  partial<InstanceChanges>({
    userId: text(),
    displayName: text(),
    displayDescription: nullable(text()),
    hostname: text(),
    reservationId: text(),
    launchIndex: amount,
    imageRef: text(),
    host: nullable(name),
    node: nullable(name),
    computeId: nullable(id),
    launchedOn: nullable(name),
    availabilityZone: nullable(text()),
    vmState,
    taskState,
    taskRequestId: nullable(text()),
    powerState: oneOfNumbers(Object.values(POWER_STATES)),
    flavor,
    oldFlavor: nullable(flavor),
    newFlavor: nullable(flavor),
    instanceTypeId: id,
    vcpus: amount,
    memoryMb: amount,
    rootGb: amount,
    ephemeralGb: amount,
    metadata: mapOf(text(LONG)),
    systemMetadata: mapOf(text(LONG)),
    migrationContext: nullable(migrationContext),
    configDrive: flag,
    keyName: nullable(text()),
    userData: nullable(text(LONG)),
    tags: listOf(text()),
    locked: flag,
    lockedReason: nullable(text()),
    progress: integer(0, 100),
    hidden: flag,
    cleaned: flag,
    launchedAt: nullable(id),
    terminatedAt: nullable(id),
  }),
);

export const migrationChanges = object<MigrationChanges>(
  partial<MigrationChanges>({
    migrationType,
    status: migrationStatus,
    sourceCompute: nullable(name),
    sourceNode: nullable(name),
    destCompute: nullable(name),
    destNode: nullable(name),
    destComputeId: nullable(id),
    destHost: nullable(text()),
    oldInstanceTypeId: nullable(id),
    newInstanceTypeId: nullable(id),
    hidden: flag,
    crossCellMove: flag,
    userId: nullable(text()),
    projectId: nullable(text()),
    memoryTotal: nullable(id),
    memoryProcessed: nullable(id),
    memoryRemaining: nullable(id),
    diskTotal: nullable(id),
    diskProcessed: nullable(id),
    diskRemaining: nullable(id),
  }),
);

export const allocationsByProvider = mapOf(
  object<AllocationsByProvider[string]>({ resources: mapOf(amount), generation: optional(id) }),
);

export const selection = object<Selection>({
  host: name,
  node: name,
  computeNodeUuid: uuid,
  allocationRequest: allocationsByProvider,
  allocationRequestVersion: text(),
});

export const destinationFailure = object<DestinationFailure>({
  host: name,
  node: name,
  message: text(LONG),
  traceback: nullable(text(1024 * 1024)),
  rollback: flag,
  eventId: nullable(id),
});

export const retryInfo = object<RetryInfo>({ numAttempts: amount, hosts: listOf(listOf(name)) });
