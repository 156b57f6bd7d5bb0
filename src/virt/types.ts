import type { PowerState, Resources } from "../records/index.js";
import type { Bytes } from "../runtime/http.js";

/** The metadata of an image, from the Image service. */
export interface ImageMeta {
  /** Uuid. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** `bare` … */
  readonly containerFormat: string;
  /** Minimum size of a root disk in GiB. */
  readonly minDisk: number;
  /** Minimum memory of a guest in MiB. */
  readonly minRam: number;
  /** The image's own properties, such as `hw_disk_bus`. */
  readonly properties: Readonly<Record<string, string>>;
}

/** The data of an image, from the Image service. */
export interface ImageData {
  /** Bytes. */
  readonly size: number;
  /** `qcow2`, `raw` … */
  readonly diskFormat: string;
  /** SHA-512 in hex; null if the service has none. */
  readonly hash: string | null;
  /**
   * The complete content, readable once, at the reader's pace. After the last byte it is verified against the service's
   * hash.
   * @throws {ImageUnacceptable} the content differs from the stored one. {@link GlanceConnectionFailed} the transfer broke
   * off.
   */
  readonly bytes: Bytes;
}

/** An image whose content can be read during the call that gets it. */
export interface Image extends ImageMeta {
  /**
   * Opens the content; null if the image has no data.
   * @throws {ImageNotFound}
   * @throws {ImageNotActive}
   * @throws {GlanceConnectionFailed}
   * @throws {ImageServiceNotFound}
   */
  readonly open: () => Promise<ImageData | null>;
}

/**
 * The format of a snapshot's content. Omitted fields keep the image's present values, which are those of the guest's image.
 */
export interface UploadOptions {
  /** `qcow2`, `raw` … */
  readonly diskFormat?: string;
  /** `bare` … */
  readonly containerFormat?: string;
}

/** Access to the Image service for a driver. */
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

/** A driver's report about one node; spec 4.4 step 1. Sizes are in MiB for memory and GiB for disk. */
export interface AvailableResource {
  /** Processors of the node, including those in use, as in all totals here. */
  readonly vcpus: number;
  /** MiB */
  readonly memoryMb: number;
  /** GiB of disk for guests. */
  readonly localGb: number;
  /** Processors in use by guests. */
  readonly vcpusUsed: number;
  /** MiB in use by guests. */
  readonly memoryMbUsed: number;
  /** GiB in use by guests. */
  readonly localGbUsed: number;
  /** JSON string, or null. */
  readonly cpuInfo: string | null;
  /** JSON string; null if the node has no relevant NUMA cells. */
  readonly numaTopology: string | null;
  /** `QEMU`, `ironic` … */
  readonly hypervisorType: string;
  /** Nova's encoding: 8.2.1 is 8002001. */
  readonly hypervisorVersion: number;
  /** Name of the node, as `getAvailableNodes` lists it. */
  readonly hypervisorHostname: string;
  /** Supported kinds of guests: `["x86_64", "qemu", "hvm"]`. */
  readonly supportedInstances: readonly (readonly [arch: string, hypervisor: string, vmMode: string])[];
  /** Free GiB if all disks grow to their full sizes; may be negative. Null if unknown. */
  readonly diskAvailableLeast: number | null;
  /** Set by drivers whose nodes have their own identities (ironic); otherwise the host's `compute_id` is used. */
  readonly uuid?: string;
  /** Further properties of the node by name, for the scheduler and for users. */
  readonly stats?: Readonly<Record<string, string>>;
}

/** The state of a guest. */
export interface GuestInfo {
  /** `POWER_STATES.running` … */
  readonly state: PowerState;
  /** The hypervisor's own name or number of the guest. */
  readonly internalId?: string;
}

/**
 * A virtual interface of a guest. There is none for servers created with `networks: none`, nor for any server under a real
 * Nova.
 */
export interface NetworkInfo {
  /** Uuid of the port. */
  readonly id: string;
  /** MAC address. */
  readonly address: string;
  /** Uuid of the network. */
  readonly network: string;
  /** Whether the network service already has the port as connected here: it reports nothing when it is connected again. */
  readonly active: boolean;
  /** Neutron's `binding:vif_type`: `ovs`; `binding_failed` if no L2 agent could bind it. Absent: unknown. */
  readonly vifType?: string;
}

/** A volume of Block Storage as a guest's disk. */
export interface GuestVolume {
  /** Uuid of the volume, and the serial number of the disk. */
  readonly volumeId: string;
  /** `/dev/vdb` */
  readonly deviceName: string;
  /** `virtio`, `scsi` … */
  readonly diskBus: string;
  /** `disk`, `cdrom` … */
  readonly deviceType: string;
  /** 0: the root disk; null: not bootable. */
  readonly bootIndex: number | null;
  /** GiB */
  readonly size: number;
  /** The user's name for the device in the guest. */
  readonly tag: string | null;
  /** Whether other guests may have the volume at the same time. */
  readonly isShareable: boolean;
  /** How this host reaches the volume: `driver_volume_type` and `data`, as Block Storage responded to its connector. */
  readonly connectionInfo: Readonly<Record<string, unknown>>;
}

/** A volume that a guest has. */
export interface AttachedVolume {
  /** Uuid of the volume. */
  readonly volumeId: string;
  /** `/dev/vdb` */
  readonly deviceName: string;
}

/** A disk in the host's own storage, beside the root disk. */
export interface LocalDisk {
  /** The purpose of the disk. */
  readonly kind: "ephemeral" | "swap";
  /** `/dev/vdb` */
  readonly deviceName: string;
  /** `virtio`, `scsi` … */
  readonly diskBus: string;
  /** MiB */
  readonly sizeMb: number;
  /** The file system of an ephemeral disk; null: the driver's choice. */
  readonly guestFormat: string | null;
}

/** The guest's block devices. */
export interface BlockDeviceInfo {
  /** `/dev/vda` */
  readonly rootDeviceName: string;
  /** Ephemeral and swap disks in the order of their names. */
  readonly localDisks: readonly LocalDisk[];
  /** Volumes in the order of their names. If one of them has the boot index 0, the guest has no local root disk. */
  readonly volumes: readonly GuestVolume[];
}

/** The side of a host that uses volumes, for Block Storage: `{ host: "devstack1", initiator: "iqn…", ip: "10.0.0.1" }`. */
export type VolumeConnector = Readonly<Record<string, string | boolean>>;

/** The instance's allocations: provider uuid → amounts; for mapping nested providers to real devices. */
export type Allocations = Readonly<Record<string, { readonly resources: Resources }>>;

/** Options of every driver call. */
export interface CallOptions {
  /** Aborted by the caller, or at the method's timeout. */
  readonly signal?: AbortSignal;
  /** `req-…` of the API request on whose behalf the agent acts; absent if it acts by itself. */
  readonly requestId?: string;
  /**
   * Number of the host lease under which the agent acts; greater than that of every earlier agent of the host. Constant
   * during an agent's run; `initHost` is the first call that gets it. Absent if the agent has no lease (quirk
   * `no-host-lease`, dry runs). See `supportsFencing` for its use.
   */
  readonly epoch?: number;
}

/** Options of calls that may start a guest. */
export interface PowerOnOptions extends CallOptions {
  /**
   * The guest's disks, with the present connections of its volumes. If absent, the guest keeps its disks, and a missing guest
   * is created with local disks only.
   */
  readonly blockDevices?: BlockDeviceInfo;
}

/** Options of building a guest. */
export interface SpawnOptions extends CallOptions {
  /** The image of the root disk. */
  readonly image: Image;
  /** The instance's allocations in Placement. */
  readonly allocations: Allocations;
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** If false, the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

/** Options of removing a guest. */
export interface DestroyOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** If false, local files are preserved (shared storage). */
  readonly destroyDisks: boolean;
}

/** Options of rescuing a guest. */
export interface RescueOptions extends CallOptions {
  /** The image from which the guest boots. */
  readonly image: Image;
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks, which remain unchanged. */
  readonly blockDevices: BlockDeviceInfo;
}

/** Stage of a snapshot; a shelving instance has its own task states for these. */
export type SnapshotStage = "image_pending_upload" | "image_uploading";

/** Callbacks of a snapshot, and the upload of its content. */
export interface SnapshotOptions extends CallOptions {
  /** Rejects if another request has changed the instance's task state: the snapshot must stop. */
  readonly updateTaskState: (stage: SnapshotStage) => Promise<void>;
  /**
   * Sends the image's content to the Image service, once, at the service's pace. Resolves when the service has stored and
   * verified all of it. If the stream fails, its error is thrown and the image does not become active.
   * @throws {GlanceConnectionFailed}
   * @throws {ImageNotFound}
   * @throws {ImageUnacceptable}
   * @throws {ImageServiceNotFound}
   */
  readonly upload: (bytes: Bytes, options?: UploadOptions) => Promise<void>;
}

/**
 * The options as the core passes them: without access to the image's content, which is added for the duration of the call.
 */
export type WithoutBytes<O extends { readonly image: Image }> = Omit<O, "image"> & { readonly image: ImageMeta };

/** Placement's inventory record of one class. */
export interface Inventory {
  /** Total amount. */
  readonly total: number;
  /** Amount that is not available to servers. */
  readonly reserved: number;
  /** Minimum amount per server. */
  readonly minUnit: number;
  /** Maximum amount per server. */
  readonly maxUnit: number;
  /** Requested amounts must be a multiple of this. */
  readonly stepSize: number;
  /** Overcommit factor of the amount that is not reserved. */
  readonly allocationRatio: number;
}

/** Opaque token that one host's storage probe creates and another host's recognises (spec 3.3). */
export type SharedStorageToken = Readonly<Record<string, unknown>>;
