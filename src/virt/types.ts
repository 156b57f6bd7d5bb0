import type { PowerState, Resources } from "../records/index.js";
import type { Bytes } from "../runtime/http.js";

/** What the Image service says of an image. */
export interface ImageMeta {
  /** Uuid. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** `bare` … */
  readonly containerFormat: string;
  /** GiB that a root disk must have. */
  readonly minDisk: number;
  /** MiB that a guest must have. */
  readonly minRam: number;
  /** The image's own: `hw_disk_bus` … */
  readonly properties: Readonly<Record<string, string>>;
}

/** What the Image service has of an image. */
export interface ImageData {
  /** Bytes. */
  readonly size: number;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** SHA-512 in hex; null: the service has none. */
  readonly hash: string | null;
  /**
   * All of them, once, at the reader's pace. After the last one they are held against what the service says of them.
   * @throws {ImageUnacceptable} they are not what was stored. {@link GlanceConnectionFailed} they broke off.
   */
  readonly bytes: Bytes;
}

/** An image, with the way to its bytes as long as the call takes that it is given to. */
export interface Image extends ImageMeta {
  /**
   * Null: the service has the image and no bytes of it.
   * @throws {ImageNotFound} {@link ImageNotActive} {@link GlanceConnectionFailed} {@link ImageServiceNotFound}
   */
  readonly open: () => Promise<ImageData | null>;
}

/** What the bytes of a snapshot are. Left out: as the image says already, which is what the guest's own image was. */
export interface UploadOptions {
  /** `qcow2`, `raw` … */
  readonly diskFormat?: string;
  /** `bare` … */
  readonly containerFormat?: string;
}

/** The Image service, as an agent reaches it for its driver. */
export interface ImageService {
  open(id: string, signal: AbortSignal): Promise<ImageData | null>;
  upload(id: string, bytes: Bytes, options: UploadOptions, signal: AbortSignal): Promise<void>;
}

export type {
  AssignedResource,
  Flavor,
  GuestDiagnostics,
  InjectedFile,
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
  /** Processors of the node, those in use included, as in all totals here. */
  readonly vcpus: number;
  /** MiB */
  readonly memoryMb: number;
  /** GiB of disk for guests. */
  readonly localGb: number;
  /** Processors that guests have. */
  readonly vcpusUsed: number;
  /** MiB that guests have. */
  readonly memoryMbUsed: number;
  /** GiB that guests have. */
  readonly localGbUsed: number;
  /** JSON text, or null. */
  readonly cpuInfo: string | null;
  /** JSON text, or null: the node has no cells that matter. */
  readonly numaTopology: string | null;
  /** `QEMU`, `ironic` … */
  readonly hypervisorType: string;
  /** As Nova numbers it: 8.2.1 is 8002001. */
  readonly hypervisorVersion: number;
  /** Name of the node, as `getAvailableNodes` lists it. */
  readonly hypervisorHostname: string;
  /** What guests can be: `["x86_64", "qemu", "hvm"]`. */
  readonly supportedInstances: readonly (readonly [arch: string, hypervisor: string, vmMode: string])[];
  /** GiB that are left if all disks grow to their full sizes, negative if they cannot; null: not known. */
  readonly diskAvailableLeast: number | null;
  /** Given by drivers whose nodes have identities of their own (ironic); else the host's `compute_id` is used. */
  readonly uuid?: string;
  /** More about the node, by name, for the scheduler and for people. */
  readonly stats?: Readonly<Record<string, string>>;
}

/** What a guest does now. */
export interface GuestInfo {
  /** `POWER_STATES.running` … */
  readonly state: PowerState;
  /** The hypervisor's own name or number of the guest. */
  readonly internalId?: string;
}

/** One virtual interface of a guest. A server that is created with `networks: none` has none, as has each under a real Nova. */
export interface NetworkInfo {
  /** Uuid of the port. */
  readonly id: string;
  /** MAC address. */
  readonly address: string;
  /** Uuid of the network. */
  readonly network: string;
  /** The network service knows already that it is connected here: it says nothing when it is connected again. */
  readonly active: boolean;
}

/** The guest's block devices; volumes are out of scope for now, so the list holds local disks only. */
export interface BlockDeviceInfo {
  /** `/dev/vda` */
  readonly rootDeviceName: string;
  /** Volumes; empty for now. */
  readonly blockDeviceMapping: readonly Readonly<Record<string, unknown>>[];
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

/** How a guest is made. */
export interface SpawnOptions extends CallOptions {
  /** What its root disk is made of. */
  readonly image: Image;
  /** What it holds in Placement. */
  readonly allocations: Allocations;
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** False: the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

/** How a guest is removed. */
export interface DestroyOptions extends CallOptions {
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** False: local files stay (shared storage). */
  readonly destroyDisks: boolean;
}

/** How a guest is rescued. */
export interface RescueOptions extends CallOptions {
  /** What it is booted from. */
  readonly image: Image;
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** Its disks, which stay as they are. */
  readonly blockDevices: BlockDeviceInfo;
}

/** What a snapshot is doing; a shelving instance has task states of its own for these. */
export type SnapshotStage = "image_pending_upload" | "image_uploading";

/** What a snapshot tells the agent, and where its bytes go. */
export interface SnapshotOptions extends CallOptions {
  /** Rejects when the instance's task state is no longer what it was: the snapshot must stop. */
  readonly updateTaskState: (stage: SnapshotStage) => Promise<void>;
  /**
   * Sends the image's bytes to the Image service, once, at its pace, and resolves when it has stored all of them and says that they
   * are what was sent. What the stream throws is thrown, and the image is not active.
   * @throws {GlanceConnectionFailed} {@link ImageNotFound} {@link ImageUnacceptable} {@link ImageServiceNotFound}
   */
  readonly upload: (bytes: Bytes, options?: UploadOptions) => Promise<void>;
}

/** As the core gives them: without the way to the image's bytes, which is lent for the call. */
export type WithoutBytes<O extends { readonly image: Image }> = Omit<O, "image"> & { readonly image: ImageMeta };

/** Placement's inventory record of one class. */
export interface Inventory {
  /** Amount that there is. */
  readonly total: number;
  /** Part of it that no server gets. */
  readonly reserved: number;
  /** Least that one server may ask for. */
  readonly minUnit: number;
  /** Most that one server may ask for. */
  readonly maxUnit: number;
  /** What is asked for has to be a multiple of this. */
  readonly stepSize: number;
  /** How often what is not reserved may be given away. */
  readonly allocationRatio: number;
}

/** Opaque token that one host's storage probe makes and another host's recognises (spec 3.3). */
export type SharedStorageToken = Readonly<Record<string, unknown>>;
