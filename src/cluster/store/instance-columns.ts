import {
  type Instance,
  type InstanceFault,
  POWER_STATES,
  TASK_STATES,
  VM_STATES,
} from "../../conductor/records/index.js";
import * as check from "./check.js";
import * as codec from "./codec.js";
import { flavorShape, MOST, migrationContextShape, textMap } from "./shapes.js";
import type { NewInstance } from "./store.js";
import type { Columns } from "./table.js";

const amount = codec.integer(0, MOST);

export const INSTANCE_COLUMNS: Columns<Instance> = {
  id: codec.rowId,
  uuid: codec.uuid,
  projectId: codec.text(),
  userId: codec.text(),
  displayName: codec.text(),
  displayDescription: codec.textOrNull(),
  hostname: codec.text(),
  reservationId: codec.text(),
  launchIndex: amount,
  imageRef: codec.text(),
  host: codec.textOrNull(),
  node: codec.textOrNull(),
  computeId: codec.rowIdOrNull,
  launchedOn: codec.textOrNull(),
  availabilityZone: codec.textOrNull(),
  vmState: codec.oneOf(VM_STATES),
  taskState: codec.oneOfOrNull(TASK_STATES),
  powerState: codec.oneOf(Object.values(POWER_STATES)),
  flavor: codec.json(flavorShape),
  oldFlavor: codec.jsonOrNull(flavorShape),
  newFlavor: codec.jsonOrNull(flavorShape),
  instanceTypeId: codec.rowId,
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: amount,
  metadata: codec.json(textMap),
  systemMetadata: codec.json(textMap),
  migrationContext: codec.jsonOrNull(migrationContextShape),
  configDrive: codec.flag,
  keyName: codec.textOrNull(),
  userData: codec.textOrNull(65_535),
  tags: codec.json(check.listOf(check.text())),
  locked: codec.flag,
  lockedReason: codec.textOrNull(),
  progress: codec.integer(0, 100),
  hidden: codec.flag,
  cleaned: codec.flag,
  deleted: codec.rowId,
  deletedAt: codec.timeOrNull,
  createdAt: codec.time,
  updatedAt: codec.timeOrNull,
  launchedAt: codec.timeOrNull,
  terminatedAt: codec.timeOrNull,
};

export const INSTANCE_FAULT_COLUMNS: Columns<InstanceFault> = {
  instanceUuid: codec.uuid,
  code: codec.integer(0, MOST),
  message: codec.text(65_535),
  details: codec.textOrNull(1024 * 1024),
  host: codec.textOrNull(),
  createdAt: codec.time,
};

/** A row as it is inserted: what the caller left out as Nova has it for a new instance. */
export function newInstance(given: NewInstance, now: number): Omit<Instance, "id" | "deleted" | "deletedAt"> {
  const { flavor } = given;
  return {
    displayDescription: null,
    launchIndex: 0,
    host: null,
    node: null,
    computeId: null,
    launchedOn: null,
    availabilityZone: null,
    vmState: "building",
    taskState: "scheduling",
    powerState: POWER_STATES.nostate,
    oldFlavor: null,
    newFlavor: null,
    instanceTypeId: flavor.id,
    vcpus: flavor.vcpus,
    memoryMb: flavor.memoryMb,
    rootGb: flavor.rootGb,
    ephemeralGb: flavor.ephemeralGb,
    metadata: {},
    systemMetadata: {},
    migrationContext: null,
    configDrive: false,
    keyName: null,
    userData: null,
    tags: [],
    locked: false,
    lockedReason: null,
    progress: 0,
    hidden: false,
    cleaned: false,
    launchedAt: null,
    terminatedAt: null,
    ...given,
    createdAt: now,
    updatedAt: null,
  };
}
