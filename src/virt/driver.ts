import type { Capabilities } from "./capabilities.js";
import type { DriverConfigSchema } from "./config-schema.js";
import type { DriverContext } from "./context.js";
import type { MoveMethods } from "./move-methods.js";
import type { ProviderTree } from "./provider-tree.js";
import type {
  AvailableResource,
  DestroyOptions,
  GuestInfo,
  Instance,
  RescueOptions,
  SharedStorageToken,
  SnapshotOptions,
  SpawnOptions,
} from "./types.js";

/** Version of this contract; a plugin names the one that it was written for, and the major number must match. */
export const VIRT_API_VERSION = "1.0";

export interface DriverOperationOptions {
  readonly signal?: AbortSignal;
}

/** Allocations of every consumer that has something in the tree; what a reshape edits: consumer → provider → amounts. */
export type ReshapeAllocations = Map<string, Map<string, Record<string, number>>>;

/**
 * A hypervisor, as the agent sees it (spec 8). Instances are read-only for the driver. A driver never writes to the
 * state of record or to Placement: its only ways out are what it returns, what it throws, and `context.emitEvent`.
 * Methods marked optional may be left out; the comment says what is done instead.
 */
export interface VirtDriver extends MoveMethods {
  readonly capabilities: Capabilities;
  /** Nodes may legitimately move between hosts (ironic). Default false. */
  readonly rebalancesNodes?: boolean;

  /** Start-up, before anything else. Any error aborts the start. */
  initHost(options?: DriverOperationOptions): Promise<void>;
  /** Shutdown: release connections. Must not stop guests. */
  cleanupHost(options?: DriverOperationOptions): Promise<void>;
  /**
   * May validate, or filter, the instances that start-up will initialise. Default: all of them.
   * @throws {InvalidConfiguration} aborts the start.
   */
  processInstancesAtStartup?(
    instances: readonly Instance[],
    options?: DriverOperationOptions,
  ): Promise<readonly Instance[]>;

  /** Uuids of all guests, also of those that nobody knows. @throws {VirtDriverNotReady} */
  listInstanceUuids(options?: DriverOperationOptions): Promise<readonly string[]>;
  /** @throws {VirtDriverNotReady} the pass is skipped. */
  getAvailableNodes(options?: DriverOperationOptions & { readonly refresh?: boolean }): Promise<readonly string[]>;
  /** uuid → name. Default: `localNodeUuid` → the first available node. @throws {VirtDriverNotReady} */
  getNodenamesByUuid?(
    options?: DriverOperationOptions & { readonly refresh?: boolean },
  ): Promise<ReadonlyMap<string, string>>;
  /** Default false: a node is never dropped just because it vanished from the list. */
  isNodeDeleted?(node: string, options?: DriverOperationOptions): Promise<boolean>;
  /** Called outside the tracker's lock. An error skips the node in this pass. */
  getAvailableResource(node: string, options?: DriverOperationOptions): Promise<AvailableResource>;
  /**
   * Edits the tree in place; the duties are spec 8.7. Called inside the tracker's lock, on each pass and again after
   * each conflict: idempotent and cheap. `allocations` is given only after {@link ReshapeNeeded}.
   */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: DriverOperationOptions & { readonly allocations?: ReshapeAllocations },
  ): Promise<void>;
  getHostIpAddr(): string;
  /** Default: nothing; the agent sets the trait itself. */
  setHostEnabled?(enabled: boolean, options?: DriverOperationOptions): Promise<void>;

  /** @throws {GuestNotFound} counts as `nostate`. */
  getInfo(instance: Instance, options?: DriverOperationOptions): Promise<GuestInfo>;
  /** Default: searched in {@link listInstanceUuids}. */
  instanceExists?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /** Before networks and volumes of a build. @throws {ComputeResourcesUnavailable} reschedules. Default: nothing. */
  prepareForSpawn?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Leaves a complete guest or nothing. */
  spawn(instance: Instance, options: SpawnOptions): Promise<void>;
  /** Undo of {@link prepareForSpawn}; idempotent, also called when spawn was never reached. Default: nothing. */
  failedSpawnCleanup?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Makes the guest anew from an image, in its place; {@link SpawnOptions} as for spawn. Default: {@link destroy}, then
   * {@link spawn}.
   */
  rebuild?(instance: Instance, options: SpawnOptions): Promise<void>;
  /** An absent guest is success. Errors propagate. */
  destroy(instance: Instance, options: DestroyOptions): Promise<void>;
  /** @throws {GuestNotFound} {@link InstancePowerOffFailure} */
  powerOff(instance: Instance, options?: DriverOperationOptions & { readonly timeout?: number }): Promise<void>;
  /** @throws {GuestNotFound} */
  powerOn(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** HARD makes a missing guest anew; SOFT: @throws {GuestNotFound} */
  reboot(instance: Instance, type: "SOFT" | "HARD", options?: DriverOperationOptions): Promise<void>;
  /** Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  pause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  unpause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  suspend?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Undo of {@link suspend}. Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  resume?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Stops the guest and boots `image` in its place, its own disk beside. Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  rescue?(instance: Instance, options: RescueOptions): Promise<void>;
  /** Undo of {@link rescue}; a guest that was not rescued is success. Left out: @throws {NotImplemented}. @throws {GuestNotFound} */
  unrescue?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Stores the guest's root disk as image `imageId`. Must call `updateTaskState` with `image_pending_upload` when the
   * copy is wanted and with `image_uploading` when it is being sent. Left out: @throws {NotImplemented}.
   * @throws {InstanceNotRunning} there is no guest.
   */
  snapshot?(instance: Instance, imageId: string, options: SnapshotOptions): Promise<void>;
  /**
   * Connects the guest's ports after a restart of the agent; idempotent. There are no networks yet, so that a driver has
   * only the instance to go by. Default: nothing. @throws {PciDeviceNotFound} the instance is left as it is. Any other
   * error sets it to error.
   */
  plugVifs?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Undo of {@link plugVifs}, and of what spawn plugged, when a build failed; idempotent. Default: nothing. */
  unplugVifs?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /** Idempotent. Default: nothing. */
  resumeStateOnHostBoot?(instance: Instance, options?: DriverOperationOptions): Promise<void>;

  /** The instance's files are visible on this host already. Default false. */
  instanceOnDisk?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /** True: nothing is left. Default true. */
  deleteInstanceFiles?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /** Default true. */
  cleanupLingeringInstanceResources?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Storage probe (spec 3.3): a token that another host may look for; null when the files are absent here or storage is
   * shared by nature. Left out: storage counts as not shared.
   */
  checkInstanceSharedStorageLocal?(
    instance: Instance,
    options?: DriverOperationOptions,
  ): Promise<SharedStorageToken | null>;
  checkInstanceSharedStorageRemote?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<boolean>;
  checkInstanceSharedStorageCleanup?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<void>;
}

/** What a plugin module exports as `driver`: made by {@link defineDriver}. */
export interface DriverDefinition {
  readonly name: string;
  /** The {@link VIRT_API_VERSION} it was written for. */
  readonly apiVersion: string;
  /** Its options. Left out: it has none. */
  readonly configSchema?: DriverConfigSchema;
  readonly create: (context: DriverContext) => VirtDriver | Promise<VirtDriver>;
}

export const defineDriver = (definition: DriverDefinition): DriverDefinition => Object.freeze({ ...definition });
