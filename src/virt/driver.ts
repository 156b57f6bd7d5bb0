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
  RescueOptions,
  SharedStorageToken,
  SnapshotOptions,
  SpawnOptions,
} from "./types.js";

/**
 * What people ask of a host and of its guests (spec 8.14). None of these changes anything, all are called without a lock, and each may be
 * left out: NotImplemented, and the API answers 501.
 */
export interface ReportMethods {
  /**
   * How long the host is up, as `uptime` prints it: ` 12:34:56 up 3 days, 2:01, 1 user, load average: 0.05, 0.03, 0.00`.
   * @calledBy the API, for a hypervisor and in the list of them (since 2.88). No lock.
   */
  getHostUptime?(options?: CallOptions): Promise<string>;
  /**
   * What the guest has written to its console, oldest first; nothing yet is an empty text. The last 100 KiB are used.
   * @throws {GuestNotFound}
   * @calledBy the API's action os-getConsoleOutput. No lock.
   */
  getConsoleOutput?(instance: Instance, options?: CallOptions): Promise<string>;
  /**
   * Counters of a guest that runs, by names of the driver's own: `cpu0_time`, `vda_read_req`, `memory`. @throws
   * {GuestNotFound}
   * @calledBy the API, for diagnostics before 2.48. No lock.
   */
  getDiagnostics?(instance: Instance, options?: CallOptions): Promise<Readonly<Record<string, number | string>>>;
  /**
   * The same in the form that all drivers share. @throws {GuestNotFound}
   * @calledBy the API, for diagnostics since 2.48. No lock.
   */
  getInstanceDiagnostics?(instance: Instance, options?: CallOptions): Promise<GuestDiagnostics>;
}

/**
 * Version of this contract. A minor adds methods, options and capabilities that may be left out; a major changes or removes
 * something. A plugin names the version that it was written for, of the same major and at most this minor.
 */
export const VIRT_API_VERSION = "1.0";

/** What calls are given that are about no guest's disks or networks. */
export type DriverOperationOptions = CallOptions;

/** Allocations of every consumer that has something in the tree; what a reshape edits: consumer → provider → amounts. */
export type ReshapeAllocations = Map<string, Map<string, Record<string, number>>>;

/**
 * A hypervisor, as the agent sees it (spec 8). Instances are read-only for the driver. A driver never writes to the
 * state of record or to Placement: its only ways out are what it returns, what it throws, and `context.emitEvent`.
 * Methods marked optional may be left out; the comment says what is done instead.
 */
export interface VirtDriver extends MoveMethods, ReportMethods {
  readonly capabilities: Capabilities;
  /** Nodes may legitimately move between hosts (ironic). Default false. */
  readonly rebalancesNodes?: boolean;

  /**
   * Start-up, before anything else. Any error aborts the start. A driver that `supportsFencing` makes the hypervisor refuse all
   * that agents with a smaller `options.epoch` still ask, and throws {@link HostEpochOutdated} where it knows a greater one.
   * @calledBy the start of the agent, before anything else (2.2). No lock.
   */
  initHost(options?: DriverOperationOptions): Promise<void>;
  /**
   * Shutdown: release connections. Must not stop guests.
   * @calledBy the end of the agent, after the last operation (2.8). No lock.
   */
  cleanupHost(options?: DriverOperationOptions): Promise<void>;
  /**
   * May validate, or filter, the instances that start-up will initialise. Default: all of them.
   * @throws {InvalidConfiguration} aborts the start.
   * @calledBy start-up, after evacuated guests were cleaned up (2.2). No lock.
   */
  processInstancesAtStartup?(
    instances: readonly Instance[],
    options?: DriverOperationOptions,
  ): Promise<readonly Instance[]>;

  /**
   * Uuids of all guests, those without an instance included. @throws {VirtDriverNotReady}
   * @calledBy start-up's check of a new host (2.2), the clean-up of evacuated guests (3.2), the periodic power sync. No
   * lock.
   */
  listInstanceUuids(options?: DriverOperationOptions): Promise<readonly string[]>;
  /**
   * Names of the nodes that can have guests. @throws {VirtDriverNotReady} the pass is skipped.
   * @calledBy each pass of the resource tracker (4.3), and before each claim. No lock.
   */
  getAvailableNodes(options?: DriverOperationOptions & { readonly refresh?: boolean }): Promise<readonly string[]>;
  /**
   * uuid → name. Default: `localNodeUuid` → the first available node. @throws {VirtDriverNotReady}
   * @calledBy start-up's ownership guard (2.4). No lock.
   */
  getNodenamesByUuid?(
    options?: DriverOperationOptions & { readonly refresh?: boolean },
  ): Promise<ReadonlyMap<string, string>>;
  /**
   * Default false: a node is never dropped just because it vanished from the list.
   * @calledBy the tracker's pass, for each node that is no longer listed (4.3). No lock.
   */
  isNodeDeleted?(node: string, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Called outside the tracker's lock. An error skips the node in this pass.
   * @calledBy the tracker's pass, for each node (4.4). No lock.
   */
  getAvailableResource(node: string, options?: DriverOperationOptions): Promise<AvailableResource>;
  /**
   * Edits the tree in place; the duties are spec 8.7. Called inside the tracker's lock, on each pass and again after
   * each conflict: idempotent and cheap. `allocations` is given only after {@link ReshapeNeeded}.
   * @calledBy the tracker's pass, for each node, and again after each conflict (4.7). The tracker's lock.
   */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: DriverOperationOptions & { readonly allocations?: ReshapeAllocations },
  ): Promise<void>;
  /**
   * The address by which other hosts reach this one: `migration.dest_host`. Answers at once.
   * @calledBy the tracker's pass and claims of moves. The tracker's lock.
   */
  getHostIpAddr(): string;
  /**
   * Default: nothing; the agent sets the trait itself.
   * @calledBy the API, when the service is disabled or enabled (2.5). No lock.
   */
  setHostEnabled?(enabled: boolean, options?: DriverOperationOptions): Promise<void>;

  /**
   * The guest's power state. @throws {GuestNotFound} counts as `nostate`.
   * @calledBy start-up, for each instance; before and after changes of its state; the periodic power sync. The
   * instance's lock in operations.
   */
  getInfo(instance: Instance, options?: DriverOperationOptions): Promise<GuestInfo>;
  /**
   * Default: searched in {@link listInstanceUuids}.
   * @calledBy an evacuation at its destination, before it builds (6.7). The instance's lock.
   */
  instanceExists?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Before networks and volumes of a build. @throws {ComputeResourcesUnavailable} reschedules. Default: nothing.
   * @calledBy a build, after its claim (6.1). The instance's lock.
   */
  prepareForSpawn?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Leaves a complete guest or nothing.
   * @calledBy a build, an unshelve, an evacuation, a rebuild (6.1, 6.6, 6.7). The instance's lock.
   */
  spawn(instance: Instance, options: SpawnOptions): Promise<void>;
  /**
   * Undo of {@link prepareForSpawn}; idempotent, also called when spawn was never reached. Default: nothing.
   * @calledBy a build that failed after its claim (6.1). The instance's lock.
   */
  failedSpawnCleanup?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Makes the guest anew from an image, in its place; {@link SpawnOptions} as for spawn. Default: {@link destroy}, then
   * {@link spawn}.
   * @calledBy a rebuild in place (6.6). The instance's lock.
   */
  rebuild?(instance: Instance, options: SpawnOptions): Promise<void>;
  /**
   * An absent guest is success. Errors propagate.
   * @calledBy delete, offload, revert at the destination, rebuild, failed builds, the clean-up of evacuated and of
   * deleted guests (3.1, 6). The instance's lock in operations.
   */
  destroy(instance: Instance, options: DestroyOptions): Promise<void>;
  /**
   * Stops the guest; one that is stopped is success. @throws {GuestNotFound} {@link InstancePowerOffFailure}
   * @calledBy stop, shelve, the clean-up of evacuated and of deleted guests (3.1, 3.5). The instance's lock in
   * operations.
   */
  powerOff(instance: Instance, options?: DriverOperationOptions & { readonly timeout?: number }): Promise<void>;
  /**
   * Starts the guest; one that runs is success. @throws {GuestNotFound}
   * @calledBy start, and the power sync that finds a guest stopped. The instance's lock.
   */
  powerOn(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Starts the guest anew. HARD makes a missing guest anew; SOFT: @throws {GuestNotFound}
   * @calledBy reboot, and start-up for a reboot that was interrupted (2.6). The instance's lock.
   */
  reboot(instance: Instance, type: "SOFT" | "HARD", options?: DriverOperationOptions): Promise<void>;
  /**
   * Follows a change of the guest's power that something outside Nova has made: afterwards {@link getInfo} returns the present state.
   * Left out: @throws {NotImplemented}. @throws {GuestNotFound}
   * @calledBy the external event power-update, for a running instance that was powered off or a stopped one that was powered on (6.6). The
   * instance's lock.
   */
  powerUpdateEvent?(
    instance: Instance,
    target: "POWER_ON" | "POWER_OFF",
    options?: DriverOperationOptions,
  ): Promise<void>;
  /**
   * Freezes the guest in memory. Left out: @throws {NotImplemented}. @throws {GuestNotFound}
   * @calledBy pause. The instance's lock.
   */
  pause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Undo of {@link pause}. Left out: @throws {NotImplemented}. @throws {GuestNotFound}
   * @calledBy unpause. The instance's lock.
   */
  unpause?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Puts the guest's memory aside and stops it. Left out: @throws {NotImplemented}. @throws {GuestNotFound}
   * @calledBy suspend. The instance's lock.
   */
  suspend?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Undo of {@link suspend}. Left out: @throws {NotImplemented}. @throws {GuestNotFound}
   * @calledBy resume. The instance's lock.
   */
  resume?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Stops the guest and boots `image` in its place, its own disk beside. Left out: @throws {NotImplemented}. @throws
   * {GuestNotFound}
   * @calledBy rescue. The instance's lock.
   */
  rescue?(instance: Instance, options: RescueOptions): Promise<void>;
  /**
   * Undo of {@link rescue}; a guest that was not rescued is success. Left out: @throws {NotImplemented}. @throws
   * {GuestNotFound}
   * @calledBy unrescue. The instance's lock.
   */
  unrescue?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Sets the password of the guest's administrator, by an agent in the guest or whatever the hypervisor has for it. Left out: @throws
   * {NotImplemented}. @throws {SetAdminPasswdNotSupported} nobody can tell such a guest. @throws {InstanceAgentNotEnabled} its agent
   * is off. Any other error counts as a failure, whose text no user sees.
   * @calledBy the API's action changePassword, of a guest that runs (6.6). The instance's lock.
   */
  setAdminPassword?(instance: Instance, password: string, options?: DriverOperationOptions): Promise<void>;
  /**
   * Stores the guest's root disk as image `imageId`. Must call `updateTaskState` with `image_pending_upload` when the
   * copy is wanted and with `image_uploading` when it is being sent. Left out: @throws {NotImplemented}.
   * @throws {InstanceNotRunning} there is no guest.
   * @calledBy shelve, before the guest is let go (6.6). The instance's lock.
   */
  snapshot?(instance: Instance, imageId: string, options: SnapshotOptions): Promise<void>;
  /**
   * Connects the guest's ports after a restart of the agent, and when it is given another one; idempotent. Default: nothing.
   * @throws {PciDeviceNotFound} the instance is left as it is. At start-up, any other error sets it to error.
   * @calledBy start-up, for each instance that should run (2.6), and when its network has changed (8.6). No lock.
   */
  plugVifs?(
    instance: Instance,
    options?: DriverOperationOptions & { readonly network?: readonly NetworkInfo[] },
  ): Promise<void>;
  /**
   * Undo of {@link plugVifs}, and of what spawn plugged, when a build failed; idempotent. Default: nothing.
   * @calledBy a build that failed (6.1). The instance's lock.
   */
  unplugVifs?(instance: Instance, options?: DriverOperationOptions): Promise<void>;
  /**
   * Idempotent. Default: nothing.
   * @calledBy start-up, for each instance that should run and does not, if resume_guests_state_on_host_boot is set
   * (2.6). No lock.
   */
  resumeStateOnHostBoot?(instance: Instance, options?: DriverOperationOptions): Promise<void>;

  /**
   * The instance's files are visible on this host already. Default false.
   * @calledBy an evacuation at its destination (6.7). The instance's lock.
   */
  instanceOnDisk?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * True: nothing is left. Default true.
   * @calledBy the periodic tasks for pending deletes and incomplete migrations (3.7). The instance's lock.
   */
  deleteInstanceFiles?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Default true.
   * @calledBy the periodic task for incomplete migrations (3.7). The instance's lock.
   */
  cleanupLingeringInstanceResources?(instance: Instance, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * Storage probe (spec 3.3): a token that another host may look for; null when the files are absent here or storage is
   * shared by nature. Left out: storage counts as not shared.
   * @calledBy the clean-up of evacuated guests and a revert, on the host that may remove files (3.3). No lock.
   */
  checkInstanceSharedStorageLocal?(
    instance: Instance,
    options?: DriverOperationOptions,
  ): Promise<SharedStorageToken | null>;
  /**
   * @calledBy the same, on the other host, by RPC (3.3). No lock.
   */
  checkInstanceSharedStorageRemote?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<boolean>;
  /**
   * @calledBy the same, on the first host, always (3.3). No lock.
   */
  checkInstanceSharedStorageCleanup?(token: SharedStorageToken, options?: DriverOperationOptions): Promise<void>;
}

/** What a plugin module exports as `driver`: made by {@link defineDriver}. */
export interface DriverDefinition {
  readonly name: string;
  /** The {@link VIRT_API_VERSION} it was written for, or a range that has to include the host's: `>=1.0 <2`. */
  readonly apiVersion: string;
  /** Its options. Left out: it has none. */
  readonly configSchema?: DriverConfigSchema;
  readonly create: (context: DriverContext) => VirtDriver | Promise<VirtDriver>;
}

export const defineDriver = (definition: DriverDefinition): DriverDefinition => Object.freeze({ ...definition });
