import type { PowerState, Resources } from "../records/index.js";

export type {
  AssignedResource,
  Flavor,
  Instance,
  Migration,
  MigrationContext,
  PowerState,
  Resources,
  TaskState,
  VmState,
} from "../records/index.js";
export { POWER_STATES } from "../records/index.js";

/** What the driver reports of one node; spec 4.4 step 1. Sizes: MiB for memory, GiB for disk. */
export interface AvailableResource {
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly localGb: number;
  readonly vcpusUsed: number;
  readonly memoryMbUsed: number;
  readonly localGbUsed: number;
  /** JSON text, or null. */
  readonly cpuInfo: string | null;
  readonly numaTopology: string | null;
  readonly hypervisorType: string;
  readonly hypervisorVersion: number;
  readonly hypervisorHostname: string;
  readonly supportedInstances: readonly (readonly [arch: string, hypervisor: string, vmMode: string])[];
  readonly diskAvailableLeast: number | null;
  /** Given by drivers whose nodes have identities of their own (ironic); else the host's `compute_id` is used. */
  readonly uuid?: string;
  readonly stats?: Readonly<Record<string, string>>;
}

export interface GuestInfo {
  readonly state: PowerState;
  readonly internalId?: string;
}

/** One virtual interface of a guest. Empty lists with `networks: none`. */
export interface NetworkInfo {
  readonly id: string;
  readonly address: string;
  readonly network: string;
}

/** The guest's block devices; volumes are out of scope for now, so the list holds local disks only. */
export interface BlockDeviceInfo {
  readonly rootDeviceName: string;
  readonly blockDeviceMapping: readonly Readonly<Record<string, unknown>>[];
}

export interface ImageMeta {
  readonly id: string;
  readonly name: string;
  readonly diskFormat: string;
  readonly containerFormat: string;
  readonly minDisk: number;
  readonly minRam: number;
  readonly properties: Readonly<Record<string, string>>;
}

/** What the instance holds: provider uuid → amounts; for mapping nested providers to real devices. */
export type Allocations = Readonly<Record<string, { readonly resources: Resources }>>;

/** What every call of a driver is given. */
export interface CallOptions {
  /** Aborted when the caller gives up, or when the method's time is over. */
  readonly signal?: AbortSignal;
  /** `req-…` of the API's request that the agent acts for; left out where it acts by itself. */
  readonly requestId?: string;
  /**
   * Number of the host's lease under which the agent acts, greater than that of every agent that had the host before. It does
   * not change in an agent's life, and `initHost` is the first to be given it. Left out where the agent has no lease (quirk
   * `no-host-lease`, dry runs). What a driver does with it: see `supportsFencing`.
   */
  readonly epoch?: number;
}

export interface SpawnOptions extends CallOptions {
  readonly image: ImageMeta;
  readonly allocations: Allocations;
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
  /** False: the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

export interface DestroyOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
  /** False: local files stay (shared storage). */
  readonly destroyDisks: boolean;
}

export interface RescueOptions extends CallOptions {
  readonly image: ImageMeta;
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
}

/** What a snapshot is doing; a shelving instance has task states of its own for these. */
export type SnapshotStage = "image_pending_upload" | "image_uploading";

export interface SnapshotOptions extends CallOptions {
  /** Rejects when the instance's task state is no longer what it was: the snapshot must stop. */
  readonly updateTaskState: (stage: SnapshotStage) => Promise<void>;
}

/** Placement's inventory record of one class. */
export interface Inventory {
  readonly total: number;
  readonly reserved: number;
  readonly minUnit: number;
  readonly maxUnit: number;
  readonly stepSize: number;
  readonly allocationRatio: number;
}

/** Opaque token that one host's storage probe makes and another host's recognises (spec 3.3). */
export type SharedStorageToken = Readonly<Record<string, unknown>>;
