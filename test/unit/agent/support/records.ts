import type { Store } from "../../../../src/control-plane/store/store.js";
import type {
  ComputeNode,
  ComputeNodeResources,
  Flavor,
  Instance,
  Migration,
  MigrationChanges,
  MigrationStatus,
  MigrationType,
  NewInstance,
} from "../../../../src/records/index.js";
import { aFlavor, nodeResources } from "../../../fixtures/records.js";

export const NODE_RESOURCES: ComputeNodeResources = nodeResources();

export const FLAVOR: Flavor = aFlavor();

/** The allocations of {@link FLAVOR} in Placement. */
export const AMOUNTS = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
export const PROJECT = "8f14e45fceea167a5a36dedd4bea2543";
export const USER = "c9f0f895fb98ab9159f51fd0297e236d";

export function addInstance(store: Store, uuid: string, values: Partial<NewInstance> = {}): Instance {
  return store.instances.create({
    uuid,
    projectId: PROJECT,
    userId: USER,
    displayName: `vm-${uuid.slice(-2)}`,
    hostname: `vm-${uuid.slice(-2)}`,
    reservationId: "r-00000001",
    imageRef: "11111111-1111-4111-8111-111111111111",
    flavor: FLAVOR,
    instanceTypeId: FLAVOR.id,
    vmState: "active",
    taskState: null,
    powerState: 1,
    ...values,
  });
}

/** The columns of an instance on a node. */
export function placed(node: ComputeNode): Pick<Instance, "host" | "node" | "computeId" | "launchedOn"> {
  return {
    host: node.host,
    node: node.hypervisorHostname,
    computeId: node.id,
    launchedOn: node.host,
  };
}

export function addMigration(
  store: Store,
  instanceUuid: string,
  migrationType: MigrationType,
  status: MigrationStatus,
  changes: MigrationChanges,
): Migration {
  return store.migrations.create({ instanceUuid, migrationType, status, changes });
}

export const uuidOf = (n: number): string => `a0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
