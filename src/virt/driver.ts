import type { Capabilities } from "./capabilities.js";
import type { DriverConfigSchema } from "./config-schema.js";
import type { DriverContext } from "./context.js";
import type { MoveMethods } from "./move-methods.js";
import type { ProviderTree } from "./provider-tree.js";
import type {
  AvailableResource,
  CallOptions,
  DestroyOptions,
  GuestDiagnostics,
  GuestInfo,
  Instance,
  NetworkInfo,
  PowerOnOptions,
  RescueOptions,
  SharedStorageToken,
  SnapshotOptions,
  SpawnOptions,
} from "./types.js";
import type { VolumeMethods } from "./volume-methods.js";

/**
 * Reports about a host and its guests, for API users (spec 8.14). None of these methods changes anything, and all are called
 * without a lock. Each is optional: without it, the call fails with NotImplemented and the API responds with status 501.
 */
export interface ReportMethods {
  /**
   * Returns the host's uptime as `uptime` prints it: ` 12:34:56 up 3 days, 2:01, 1 user, load average: 0.05, 0.03, 0.00`.
   * @calledBy the API, for a hypervisor and in the list of them (since 2.88). No lock.
   */
  getHostUptime?(options?: CallOptions): Promise<string>;
  /**
   * Returns the guest's console output, oldest first; an empty string if there is none. The last 100 KiB are used.
   * @throws {GuestNotFound}
   * @calledBy the API's action os-getConsoleOutput. No lock.
   */
  getConsoleOutput?(instance: Instance, options?: CallOptions): Promise<string>;
  /**
   * Returns counters of a running guest, by names of the driver's own: `cpu0_time`, `vda_read_req`, `memory`.
   * @throws {GuestNotFound}
   * @calledBy the API, for diagnostics before 2.48. No lock.
   */
  getDiagnostics?(instance: Instance, options?: CallOptions): Promise<Readonly<Record<string, number | string>>>;
  /**
   * Returns the diagnostics of a running guest in the format that all drivers share.
   * @throws {GuestNotFound}
   * @calledBy the API, for diagnostics since 2.48. No lock.
   */
  getInstanceDiagnostics?(instance: Instance, options?: CallOptions): Promise<GuestDiagnostics>;
}

/**
 * Version of this contract. A minor version adds methods, options and capabilities that are optional; a major version
 * changes or removes something. A driver declares the version that it was written for: the same major version, and at most
 * this minor version.
 */
export const VIRT_API_VERSION = "1.0";

/** Options of calls that need no disks or networks of a guest. */
export type DriverOperationOptions = CallOptions;

/** Allocations of every consumer with resources in the tree, which a reshape edits: consumer → provider → amounts. */
export type ReshapeAllocations = Map<string, Map<string, Record<string, number>>>;

/**
 * A hypervisor, as the agent uses it (spec 8). Instances are read-only for the driver. A driver never writes to the state of
 * record or to Placement: its only outputs are its return values, its errors, and `context.emitEvent`. The comment of an
 * optional method states what the agent does without it.
 */
export interface VirtDriver extends MoveMethods, VolumeMethods, ReportMethods {
  readonly capabilities: Capabilities;
  /** Whether nodes may legitimately move between hosts (ironic). Default false. */
  readonly rebalancesNodes?: boolean;

  /**
   * Initialises the driver before anything else. Any error aborts the start of the agent. A driver that `supportsFencing`
   * makes the hypervisor reject all later requests of agents with a smaller `options.epoch`. It throws
   * {@link HostEpochOutdated} if the hypervisor has already recorded a greater one.
   * @calledBy the start of the agent, before anything else (2.2). No lock.
   */
  initHost(options?: DriverOperationOptions): Promise<void>;
  /**
   * Releases connections at shutdown. Must not stop guests.
   * @calledBy the end of the agent, after the last operation (2.8). No lock.
   */
  cleanupHost(options?: DriverOperationOptions): Promise<void>;
  /**
   * Validates or filters the instances that start-up will initialise. Default: all of them.
   * @throws {InvalidConfiguration} aborts the start.
   * @calledBy start-up, after evacuated guests were cleaned up (2.2). No lock.
   */
  processInstancesAtStartup?(
    instances: readonly Instance[],
    options?: DriverOperationOptions,
  ): Promise<readonly Instance[]>;

  /**
   * Returns the uuids of all guests, including guests without an instance.
   * @throws {VirtDriverNotReady}
   * @calledBy start-up's check of a new host (2.2), the cleanup of evacuated guests (3.2), the periodic power sync. No lock.
   */
  listInstanceUuids(options?: DriverOperationOptions): Promise<readonly string[]>;
  /**
   * Returns the names of the nodes that can have guests.
   * @throws {VirtDriverNotReady} the pass is skipped.
   * @calledBy each pass of the resource tracker (4.3), and before each claim. No lock.
   */
  getAvailableNodes(options?: DriverOperationOptions & { readonly refresh?: boolean }): Promise<readonly string[]>;
  /**
   * Returns the name of each node by its uuid. Default: `localNodeUuid` → the first available node.
   * @throws {VirtDriverNotReady}
   * @calledBy start-up's ownership guard (2.4). No lock.
   */
  getNodenamesByUuid?(
    options?: DriverOperationOptions & { readonly refresh?: boolean },
  ): Promise<ReadonlyMap<string, string>>;
  /**
   * Returns whether the node is permanently gone. Default false: a node is never removed only because it is no longer
   * listed.
   * @calledBy the tracker's pass, for each node that is no longer listed (4.3). No lock.
   */
  isNodeDeleted?(node: string, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Returns the node's resources. Called without the tracker's lock. After an error, this pass skips the node.
   * @calledBy the tracker's pass, for each node (4.4). No lock.
   */
  getAvailableResource(node: string, options?: DriverOperationOptions): Promise<AvailableResource>;
  /**
   * Edits the tree in place; spec 8.7 lists the duties. Called inside the tracker's lock, on each pass and again after each
   * conflict: must be idempotent and cheap. `allocations` is set only after {@link ReshapeNeeded}.
   * @calledBy the tracker's pass, for each node, and again after each conflict (4.7). The tracker's lock.
   */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: DriverOperationOptions & { readonly allocations?: ReshapeAllocations },
  ): Promise<void>;
  /**
   * Returns the address at which other hosts reach this one: `migration.dest_host`. Synchronous.
   * @calledBy the tracker's pass and claims of moves. The tracker's lock.
   */
  getHostIpAddr(): string;
  /**
   * Enables or disables the host in the hypervisor. Default: nothing; the agent itself sets the trait.
   * @calledBy the API, when the service is disabled or enabled (2.5). No lock.
   */
  setHostEnabled?(enabled: boolean, options?: DriverOperationOptions): Promise<void>;

  /**
   * Returns the guest's power state.
   * @throws {GuestNotFound} counts as `nostate`.
   * @calledBy start-up, for each instance; before and after changes of its state; the periodic power sync. The instance's
   * lock in operations.
   */
  getInfo(instance: Instance, options?: DriverOperationOptions): Promise<GuestInfo>;
  /**
   * Returns whether the guest exists. Default: searches {@link listInstanceUuids}.
   * @calledBy an evacuation at its destination, before it builds (6.7). The instance's lock.
   */
  instanceExists?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Prepares a build, before its networks and volumes. Default: nothing.
   * @throws {ComputeResourcesUnavailable} the build is rescheduled.
   * @calledBy a build, after its claim (6.1). The instance's lock.
   */
  prepareForSpawn?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Creates the guest. Must leave a complete guest or nothing.
   * @calledBy a build, an unshelve, an evacuation, a rebuild (6.1, 6.6, 6.7). The instance's lock.
   */
  spawn(instance: Instance, options: SpawnOptions): Promise<void>;
  /**
   * Undoes {@link prepareForSpawn}; idempotent, and also called if spawn was never reached. Default: nothing.
   * @calledBy a build that failed after its claim (6.1). The instance's lock.
   */
  failedSpawnCleanup?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Recreates the guest from an image on the same host; {@link SpawnOptions} as for spawn. Default: {@link destroy}, then
   * {@link spawn}.
   * @calledBy a rebuild in place (6.6). The instance's lock.
   */
  rebuild?(instance: Instance, options: SpawnOptions): Promise<void>;
  /**
   * Removes the guest. A missing guest is success. Errors propagate.
   * @calledBy delete, offload, revert at the destination, rebuild, failed builds, the cleanup of evacuated and of deleted
   * guests (3.1, 6). The instance's lock in operations.
   */
  destroy(instance: Instance, options: DestroyOptions): Promise<void>;
  /**
   * Stops the guest. A guest that is already stopped is success.
   * @throws {GuestNotFound}
   * @throws {InstancePowerOffFailure}
   * @calledBy stop, shelve, the cleanup of evacuated and of deleted guests (3.1, 3.5). The instance's lock in operations.
   */
  powerOff(instance: Instance, options?: DriverOperationOptions & { readonly timeout?: number }): Promise<void>;
  /**
   * Starts the guest. A guest that is already running is success.
   * @throws {GuestNotFound}
   * @calledBy start, and the power sync that finds a guest stopped. The instance's lock.
   */
  powerOn(instance: Instance, options?: PowerOnOptions): Promise<void>;
  /**
   * Restarts the guest. HARD recreates a missing guest, and connects its volumes again.
   * @throws {GuestNotFound} the type is SOFT.
   * @calledBy reboot, and start-up for a reboot that was interrupted (2.6). The instance's lock.
   */
  reboot(instance: Instance, type: "SOFT" | "HARD", options?: PowerOnOptions): Promise<void>;
  /**
   * Follows a change of the guest's power that Nova did not request: afterwards {@link getInfo} returns the present state.
   * Without this method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy the external event power-update, for a running instance that was powered off or a stopped one that was powered
   * on (6.6). The instance's lock.
   */
  powerUpdateEvent?(
    instance: Instance,
    target: "POWER_ON" | "POWER_OFF",
    options?: DriverOperationOptions,
  ): Promise<void>;
  /**
   * Freezes the guest in memory. Without this method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy pause. The instance's lock.
   */
  pause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Undoes {@link pause}. Without this method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy unpause. The instance's lock.
   */
  unpause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Saves the guest's memory and stops the guest. Without this method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy suspend. The instance's lock.
   */
  suspend?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Undoes {@link suspend}. Without this method, the call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy resume. The instance's lock.
   */
  resume?(instance: Instance, options?: PowerOnOptions): Promise<void>;
  /**
   * Stops the guest and boots `image` instead, with the guest's own disk attached as a second disk. Without this method, the
   * call fails with {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy rescue. The instance's lock.
   */
  rescue?(instance: Instance, options: RescueOptions): Promise<void>;
  /**
   * Undoes {@link rescue}; a guest that was not rescued is success. Without this method, the call fails with
   * {@link NotImplemented}.
   * @throws {GuestNotFound}
   * @calledBy unrescue. The instance's lock.
   */
  unrescue?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Sets the password of the guest's administrator, through an agent in the guest or another means of the hypervisor.
   * Without this method, the call fails with {@link NotImplemented}. Any error other than the following counts as a failure
   * whose text users do not get.
   * @throws {SetAdminPasswdNotSupported} the hypervisor cannot set the password of such a guest.
   * @throws {InstanceAgentNotEnabled} the agent in the guest is disabled.
   * @calledBy the API's action changePassword, of a guest that runs (6.6). The instance's lock.
   */
  setAdminPassword?(instance: Instance, password: string, options?: DriverOperationOptions): Promise<void>;
  /**
   * Stores the guest's root disk as image `imageId`. Must call `updateTaskState` with `image_pending_upload` before it
   * copies the disk, and with `image_uploading` before it sends the copy. Without this method, the call fails with
   * {@link NotImplemented}.
   * @throws {InstanceNotRunning} there is no guest.
   * @calledBy shelve, before the guest is offloaded (6.6). The instance's lock.
   */
  snapshot?(instance: Instance, imageId: string, options: SnapshotOptions): Promise<void>;
  /**
   * Connects the guest's ports after a restart of the agent, and when it gets another port; idempotent. Default: nothing. At
   * start-up, an error other than the following sets the instance to error.
   * @throws {PciDeviceNotFound} the instance is left as it is.
   * @calledBy start-up, for each instance that should run (2.6), and when its network has changed (8.6). No lock.
   */
  plugVifs?(
    instance: Instance,
    options?: DriverOperationOptions & { readonly network?: readonly NetworkInfo[] },
  ): Promise<void>;
  /**
   * Undoes {@link plugVifs}, and the plugging by spawn, when a build failed; idempotent. Default: nothing.
   * @calledBy a build that failed (6.1). The instance's lock.
   */
  unplugVifs?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Restores the guest's power state after a boot of the host; idempotent. Default: nothing.
   * @calledBy start-up, for each instance that should run and does not, if resume_guests_state_on_host_boot is set (2.6). No
   * lock.
   */
  resumeStateOnHostBoot?(instance: Instance, options?: PowerOnOptions): Promise<void>;

  /**
   * Returns whether this host can already access the instance's files. Default false.
   * @calledBy an evacuation at its destination (6.7). The instance's lock.
   */
  instanceOnDisk?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Removes the instance's files. Returns true if none are left. Default true.
   * @calledBy the periodic tasks for pending deletes and incomplete migrations (3.7). The instance's lock.
   */
  deleteInstanceFiles?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Removes other leftovers of the instance. Returns true if none are left. Default true.
   * @calledBy the periodic task for incomplete migrations (3.7). The instance's lock.
   */
  cleanupLingeringInstanceResources?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Prepares a storage probe (spec 3.3). Returns a token that another host can check; null if the files are absent here or
   * storage is shared by nature. Without this method, storage counts as not shared.
   * @calledBy the cleanup of evacuated guests and a revert, on the host that may remove files (3.3). No lock.
   */
  checkInstanceSharedStorageLocal?(
    instance: Instance,
    options?: DriverOperationOptions,
  ): Promise<SharedStorageToken | null>;
  /**
   * Returns whether this host recognises the token.
   * @calledBy the storage probe, on the other host, by RPC (3.3). No lock.
   */
  checkInstanceSharedStorageRemote?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Removes the traces of the storage probe.
   * @calledBy the storage probe, on the first host, always (3.3). No lock.
   */
  checkInstanceSharedStorageCleanup?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<void>;
}

/** The export named `driver` of a plugin module, created with {@link defineDriver}. */
export interface DriverDefinition {
  readonly name: string;
  /** The {@link VIRT_API_VERSION} for which the driver was written, or a range that includes the host's: `>=1.0 <2`. */
  readonly apiVersion: string;
  /** The driver's options. Default: none. */
  readonly configSchema?: DriverConfigSchema;
  readonly create: (context: DriverContext) => VirtDriver | Promise<VirtDriver>;
}

export const defineDriver = (definition: DriverDefinition): DriverDefinition => Object.freeze({ ...definition });
