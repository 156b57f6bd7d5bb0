import type { AssignedResource, Migration, MigrationContext } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { listedObjects, type NovaObject } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";
import {
  builtObject,
  deletedId,
  type FieldCodec,
  fieldsOf,
  flag,
  nullable,
  number,
  type RecordObject,
  readOnly,
  readRecord,
  rowTime,
  text,
  timestamp,
  unknownToNova,
  word,
} from "./record-object.js";

const amount = nullable(number());
const name = nullable(text());

export const MIGRATION_OBJECT: RecordObject<Migration> = {
  name: "Migration",
  fields: {
    id: number(),
    uuid: text(),
    instanceUuid: text(),
    migrationType: word(),
    status: word(),
    sourceCompute: name,
    sourceNode: name,
    destCompute: name,
    destNode: name,
    destComputeId: amount,
    destHost: name,
    oldInstanceTypeId: amount,
    newInstanceTypeId: amount,
    hidden: flag(false),
    crossCellMove: flag(false),
    userId: name,
    projectId: name,
    memoryTotal: amount,
    memoryProcessed: amount,
    memoryRemaining: amount,
    diskTotal: amount,
    diskProcessed: amount,
    diskRemaining: amount,
    deleted: deletedId,
    createdAt: rowTime,
    updatedAt: readOnly(nullable(timestamp)),
  },
};

const RESOURCE_OBJECT: RecordObject<AssignedResource> = {
  name: "Resource",
  fields: { providerUuid: text(), resourceClass: text(), identifier: text() },
};

/** A ResourceList; null if empty. */
const resources: FieldCodec<readonly AssignedResource[]> = {
  read: (value) =>
    isObject(value) ? listedObjects(value, "ResourceList").map((item) => readRecord(RESOURCE_OBJECT, item)) : [],
  write: (value, profile) =>
    value.length === 0
      ? null
      : builtObject(
          "ResourceList",
          { objects: value.map((item) => builtObject("Resource", fieldsOf(RESOURCE_OBJECT, item, profile), profile)) },
          profile,
        ),
};

const noDevices = unknownToNova<readonly string[]>(() => []);

const CONTEXT_OBJECT: RecordObject<MigrationContext> = {
  name: "MigrationContext",
  fields: {
    instanceUuid: text(),
    migrationId: number(),
    oldNumaTopology: unknownToNova<string | null>(() => null),
    newNumaTopology: unknownToNova<string | null>(() => null),
    oldPciDevices: noDevices,
    newPciDevices: noDevices,
    oldResources: resources,
    newResources: resources,
  },
};

/** Part of an instance. It is complete, with the lists that a Nova destination reads and that are always empty here. */
export const migrationContext: FieldCodec<MigrationContext> = {
  read: (value) => readRecord(CONTEXT_OBJECT, value),
  write: (value, profile) => contextObject(value, profile),
};

function contextObject(context: MigrationContext, profile: ReleaseProfile): NovaObject {
  const devices = () => builtObject("PciDeviceList", { objects: [] }, profile);
  const requests = () =>
    builtObject("InstancePCIRequests", { instance_uuid: context.instanceUuid, requests: [] }, profile);
  const none = {
    old_numa_topology: null,
    new_numa_topology: null,
    old_pci_devices: devices(),
    new_pci_devices: devices(),
    old_pci_requests: requests(),
    new_pci_requests: requests(),
  };
  return builtObject("MigrationContext", { ...fieldsOf(CONTEXT_OBJECT, context, profile), ...none }, profile);
}
