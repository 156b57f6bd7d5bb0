import type {
  Allocations,
  BlockDeviceInfo,
  CallOptions,
  DestroyOptions,
  Flavor,
  ImageMeta,
  Instance,
  Migration,
  NetworkInfo,
} from "./types.js";

/** Options of the first step of a cold move, at the source. */
export interface MigrateDiskOptions extends CallOptions {
  /** IP address of the destination (`migration.dest_host`); the driver's own address in a same-host resize. */
  readonly destIp: string;
  /** The new flavor; equal to the instance's own in a cold migration. */
  readonly flavor: Flavor;
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** Seconds that the guest has to shut down before it is powered off. */
  readonly timeout?: number;
}

/** Options of the second step of a cold move, at the destination. */
export interface FinishMigrationOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The image from which the guest was built; the bytes come from the source. */
  readonly image: ImageMeta;
  /** The instance's allocations on D, for nested providers. If absent, the guest gets no devices but those that it has. */
  readonly allocations?: Allocations;
  /** Whether a disk changes its size. */
  readonly resizeInstance: boolean;
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** If false, the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

/** Options of the removal of a moved guest at the source. */
export interface ConfirmMigrationOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
}

/** Options of a guest's return to the source. */
export interface FinishRevertOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The instance's allocations on S. If absent, the guest gets the devices that its definition still names. */
  readonly allocations?: Allocations;
  /** Null at start-up, if no record of the move is left. */
  readonly migration: Migration | null;
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** If false, the guest is left shut down. */
  readonly powerOn: boolean;
}

/** Data of a live migration that the drivers of both hosts exchange through the agents: plain JSON. */
export interface LiveMigrateData {
  /** Whether local disks are copied as well. */
  readonly blockMigration: boolean;
  /** Whether both hosts access the same files of the instance: neither may remove them. */
  readonly sharedInstanceFiles: boolean;
  /**
   * The other host's hypervisor neither sends nor receives guests. The source removes its guest when it would have been
   * copied, and the destination creates its own after that was reported. Absent if the other hypervisor is of the same kind.
   */
  readonly guestMadeAnew?: boolean;
  /** Fields of the driver's own. */
  readonly [key: string]: unknown;
}

/** Parameters of a requested live migration. */
export interface LiveMigrationCheckOptions extends CallOptions {
  /** The value of the API request; null: chosen by the kind of storage. */
  readonly blockMigration: boolean | null;
  /** Whether disks count with their actual size, not with the size to which they may grow. */
  readonly diskOverCommit: boolean;
}

/** Options of the preparation of a live migration at the destination. */
export interface PreLiveMigrationOptions extends CallOptions {
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The source's disks, in a format of the driver's own. */
  readonly diskInfo?: string;
  /** The result of the checks of both hosts. */
  readonly data: LiveMigrateData;
}

/** Progress of a live migration in bytes, as in the migration record. */
export interface LiveMigrationProgress {
  /** Size of the guest's memory. */
  readonly memoryTotal: number;
  /** Memory that has been copied. */
  readonly memoryProcessed: number;
  /** Memory still to be copied, including memory that the guest wrote meanwhile. */
  readonly memoryRemaining: number;
  /** Size of the disks to copy; 0 if storage is shared. */
  readonly diskTotal: number;
  /** Disk bytes that have been copied. */
  readonly diskProcessed: number;
  /** Disk bytes still to be copied. */
  readonly diskRemaining: number;
}

/** Why a live migration did not happen. `cancelled`: it was aborted. */
export type LiveMigrationFailure = "failed" | "cancelled";

/** Options of a live migration, with the callbacks of its driver. */
export interface LiveMigrationOptions extends CallOptions {
  /** Whether local disks are copied as well. */
  readonly blockMigration: boolean;
  /** The result of `preLiveMigration`. */
  readonly data: LiveMigrateData;
  /** May be called at any time until a callback is called; its errors never reach the driver. */
  readonly onProgress: (progress: LiveMigrationProgress) => void;
  /** Must be called when the guest runs on the destination and no longer here. Rejects if a later step failed. */
  readonly postMethod: () => Promise<void>;
  /** Must be called when the guest still runs here and nowhere else. */
  readonly recoverMethod: (outcome: { readonly status: LiveMigrationFailure }) => Promise<void>;
}

/** Options of the cleanup steps after a live migration, successful or not. */
export interface PostLiveMigrationOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** The data of both drivers. */
  readonly data: LiveMigrateData;
}

/** Options of the rollback of the destination's preparation. */
export interface RollbackAtDestinationOptions extends CallOptions {
  /** The guest's ports. */
  readonly network: readonly NetworkInfo[];
  /** The guest's disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** If false, the files are shared with the source. */
  readonly destroyDisks: boolean;
  /** The data of both drivers. */
  readonly data: LiveMigrateData;
}

/**
 * Methods that move guests between hosts (spec 8.3). S is the source, D the destination; in a same-host resize both are one
 * driver. All are called outside the tracker's lock and under the instance's lock, except {@link liveMigration} and the
 * methods that force or abort it. Each must be safe to repeat after an agent was killed inside it. Unless stated otherwise,
 * a call without the method fails with NotImplemented, and the move is rejected or rolled back.
 */
export interface MoveMethods {
  /**
   * S, first step of a cold migration or resize: stops the guest and prepares its disks for D. Returns data for D's
   * {@link finishMigration}, in a format of the driver's own. {@link finishRevertMigration} must be able to undo it from any
   * intermediate state. An error other than the following sets the instance to error.
   * @throws {InstanceFaultRollback} the step is impossible and nothing happened: the vm_state of the instance does not change, as after
   * {@link NotImplemented}.
   * @calledBy the source of a cold migration or resize (6.3). The instance's lock.
   */
  migrateDiskAndPowerOff?(instance: Instance, options: MigrateDiskOptions): Promise<string>;
  /**
   * D, second step: creates the guest from the files that S left. The guest already has the new flavor. Any error sets the
   * instance to error on D.
   * @calledBy the destination of a cold migration or resize (6.3). The instance's lock.
   */
  finishMigration?(
    migration: Migration,
    instance: Instance,
    diskInfo: string,
    options: FinishMigrationOptions,
  ): Promise<void>;
  /**
   * S, after the move was confirmed: removes what S still has. Nothing left is success. With `migration.sourceCompute ===
   * migration.destCompute` the guest itself must stay. Any error sets the instance to error; the source allocations are
   * removed in any case.
   * @calledBy the source, when the move is confirmed (6.3). The instance's lock.
   */
  confirmMigration?(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void>;
  /**
   * S, after the move was reverted, and at start-up after an interrupted {@link migrateDiskAndPowerOff} (spec 2.6): restores
   * the guest from any intermediate state. The guest has the old flavor again. D's guest was destroyed before, with
   * `destroyDisks` false if S accesses the same files, as on the same host. Default: powers the guest on if it should run.
   * @calledBy the source, when the move is reverted or superseded by a soft delete (6.3), and start-up after an interruption
   * (2.6). The instance's lock.
   */
  finishRevertMigration?(instance: Instance, options: FinishRevertOptions): Promise<void>;

  /**
   * D, before the move is scheduled: checks whether D can take the guest. The result is passed to S's check.
   * {@link cleanupLiveMigrationDestinationCheck} removes what was created for the checks.
   * @throws {MigrationPreCheckError} another host is tried, as after any other error.
   * @calledBy the destination, on request of the conductor (6.5). No lock.
   */
  checkCanLiveMigrateDestination?(instance: Instance, options: LiveMigrationCheckOptions): Promise<LiveMigrateData>;
  /**
   * S, called through D: checks whether the guest can leave. Returns `data` with the additions of S.
   * @throws {MigrationPreCheckError}
   * @calledBy the source, on request of the destination (6.5). No lock.
   */
  checkCanLiveMigrateSource?(
    instance: Instance,
    data: LiveMigrateData,
    options?: CallOptions,
  ): Promise<LiveMigrateData>;
  /**
   * D, always after the checks, even if they failed. Errors are logged. Default: nothing.
   * @calledBy the destination, after its check (6.5). No lock.
   */
  cleanupLiveMigrationDestinationCheck?(data: LiveMigrateData, options?: CallOptions): Promise<void>;
  /**
   * D: prepares for the guest. Returns `data` with the additions of D. Any error makes S roll back.
   * @calledBy the destination, on request of the source (6.5). No lock.
   */
  preLiveMigration?(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData>;
  /**
   * S: moves the running guest to `dest`, the name of the host. Must call exactly one of `postMethod` and `recoverMethod`,
   * exactly once, await it, and let its error propagate. An error before that means that the guest's state is unknown: the
   * instance is set to error and nothing is rolled back. At no moment may the guest run on both hosts.
   * @calledBy the source, when the migration reaches the head of the queue (6.5). No lock, since it takes long.
   */
  liveMigration?(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void>;
  /**
   * S: completes a running {@link liveMigration} soon, at the guest's expense (post-copy). Errors become a fault, and the
   * migration continues.
   * @calledBy the API (6.5). No lock.
   */
  liveMigrationForceComplete?(instance: Instance, options?: CallOptions): Promise<void>;
  /**
   * S: stops a running {@link liveMigration}, which then calls `recoverMethod` with `cancelled`. Errors become a fault, and
   * the migration continues. At start-up (spec 2.6): stops a migration that an earlier process left running; nothing to stop
   * is success.
   * @calledBy the API, shutdown, and start-up after an interruption (2.6, 6.5). No lock.
   */
  liveMigrationAbort?(instance: Instance, options?: CallOptions): Promise<void>;
  /**
   * S, in `postMethod`: releases the guest's volumes. Default: nothing.
   * @calledBy the source, in postMethod (6.5). No lock.
   */
  postLiveMigration?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * S, after {@link postLiveMigration}: unplugs the guest's networks. Default: nothing.
   * @calledBy the source, in postMethod (6.5). No lock.
   */
  postLiveMigrationAtSource?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * D, after S has released the guest: makes the guest's definition persistent. S finishes the migration whether this
   * succeeds or not. Default: nothing.
   * @calledBy the destination, on request of the source (6.5). No lock.
   */
  postLiveMigrationAtDestination?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * S, in `recoverMethod`: undoes the steps of the source. Default: nothing.
   * @calledBy the source, in recoverMethod (6.5). No lock.
   */
  rollbackLiveMigrationAtSource?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * D, only if something was created there: removes it. Nothing left is success. Default: {@link cleanup}.
   * @calledBy the destination, on request of the source (6.5). No lock.
   */
  rollbackLiveMigrationAtDestination?(instance: Instance, options: RollbackAtDestinationOptions): Promise<void>;
  /**
   * S, last step of a live migration: removes what a guest that runs elsewhere left here. A missing guest is success.
   * Default: `destroy`.
   * @throws {InstanceExists} the guest still runs here: nothing is removed.
   * @calledBy the source, at the end of a live migration (6.5). No lock.
   */
  cleanup?(instance: Instance, options: DestroyOptions): Promise<void>;
}
