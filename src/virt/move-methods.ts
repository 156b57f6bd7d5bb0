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

/** How a guest leaves its source in a cold move. */
export interface MigrateDiskOptions extends CallOptions {
  /** IP address of the destination (`migration.dest_host`); the driver's own address in a same-host resize. */
  readonly destIp: string;
  /** The flavor that the guest will have; equal to the instance's own in a cold migration. */
  readonly flavor: Flavor;
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** Seconds that the guest has to shut down before its plug is pulled. */
  readonly timeout?: number;
}

/** How a guest is made at the destination of a cold move. */
export interface FinishMigrationOptions extends CallOptions {
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** What it was made of; its bytes are what the source left. */
  readonly image: ImageMeta;
  /** What the instance holds on D, for nested providers. Left out: the guest gets no devices but those that it has. */
  readonly allocations?: Allocations;
  /** A disk changes its size. */
  readonly resizeInstance: boolean;
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** False: the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

/** How the source lets go of a guest that has moved. */
export interface ConfirmMigrationOptions extends CallOptions {
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
}

/** How a guest comes back to the source. */
export interface FinishRevertOptions extends CallOptions {
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** What the instance holds on S again. Left out: the guest gets the devices that its definition still names. */
  readonly allocations?: Allocations;
  /** Null at start-up, when no record of the move is left. */
  readonly migration: Migration | null;
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** False: the guest is left shut down. */
  readonly powerOn: boolean;
}

/** What drivers of both hosts tell each other of a live migration, by way of the agents: plain JSON. */
export interface LiveMigrateData {
  /** Local disks are copied too. */
  readonly blockMigration: boolean;
  /** Both hosts see the same files of the instance: neither may remove them. */
  readonly sharedInstanceFiles: boolean;
  /**
   * The other host's hypervisor hands no guest over, and takes none: the source's guest goes when it would have been copied, and
   * the destination makes its own when that is said to have happened. Absent: one of the same kind is there.
   */
  readonly guestMadeAnew?: boolean;
  /** The driver's own. */
  readonly [key: string]: unknown;
}

/** What a live migration is asked to be. */
export interface LiveMigrationCheckOptions extends CallOptions {
  /** As the API was asked; null: as the storage needs. */
  readonly blockMigration: boolean | null;
  /** Count disks by what they take, not by what they may grow to. */
  readonly diskOverCommit: boolean;
}

/** What the destination makes ready for. */
export interface PreLiveMigrationOptions extends CallOptions {
  /** Disks of the guest. */
  readonly blockDevices: BlockDeviceInfo;
  /** Its ports. */
  readonly network: readonly NetworkInfo[];
  /** The source's disks, in the form of the driver. */
  readonly diskInfo?: string;
  /** What the checks of both hosts said. */
  readonly data: LiveMigrateData;
}

/** Bytes, as the migration record has them. */
export interface LiveMigrationProgress {
  /** Memory of the guest. */
  readonly memoryTotal: number;
  /** Memory that was copied. */
  readonly memoryProcessed: number;
  /** Memory that is to be copied, what the guest wrote meanwhile included. */
  readonly memoryRemaining: number;
  /** Disks that are copied too; 0 where storage is shared. */
  readonly diskTotal: number;
  /** Disks that were copied. */
  readonly diskProcessed: number;
  /** Disks that are to be copied. */
  readonly diskRemaining: number;
}

/** Why a live migration did not come about. `cancelled`: it was aborted. */
export type LiveMigrationFailure = "failed" | "cancelled";

/** How a guest is moved while it runs, and whom its driver tells of that. */
export interface LiveMigrationOptions extends CallOptions {
  /** Local disks are copied too. */
  readonly blockMigration: boolean;
  /** What `preLiveMigration` said. */
  readonly data: LiveMigrateData;
  /** May be called at any time until a call-back is; errors of it never reach the driver. */
  readonly onProgress: (progress: LiveMigrationProgress) => void;
  /** The guest runs on the destination and no longer here. Rejects when what follows went wrong. */
  readonly postMethod: () => Promise<void>;
  /** The guest still runs here and nowhere else. */
  readonly recoverMethod: (outcome: { readonly status: LiveMigrationFailure }) => Promise<void>;
}

/** What was moved, or was not, for those that clean up after it. */
export interface PostLiveMigrationOptions extends CallOptions {
  /** Ports of the guest. */
  readonly network: readonly NetworkInfo[];
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** What both drivers have said of it. */
  readonly data: LiveMigrateData;
}

/** What the destination made ready in vain. */
export interface RollbackAtDestinationOptions extends CallOptions {
  /** Ports of the guest. */
  readonly network: readonly NetworkInfo[];
  /** Its disks. */
  readonly blockDevices: BlockDeviceInfo;
  /** False: the files are shared with the source. */
  readonly destroyDisks: boolean;
  /** What both drivers have said of it. */
  readonly data: LiveMigrateData;
}

/**
 * What moves guests between hosts (spec 8.3). S is the source, D the destination; in a same-host resize both are one
 * driver. All are called outside the tracker's lock and, but for {@link liveMigration} and what forces or aborts it, under
 * the instance's. Each must be safe to repeat after an agent was killed in it. Left out, unless said otherwise:
 * NotImplemented, and the move is refused or rolled back.
 */
export interface MoveMethods {
  /**
   * S, first step of a cold migration or resize: stops the guest and makes its disks ready for D. Returns what D's
   * {@link finishMigration} needs, in a form of the driver's own. Must be undoable by {@link finishRevertMigration} from
   * wherever it stopped.
   * @throws {InstanceFaultRollback} it cannot be done and nothing happened: the instance keeps its vm_state. So does
   * {@link NotImplemented}; any other error sets the instance to error.
   * @calledBy the source of a cold migration or resize (6.3). The instance's lock.
   */
  migrateDiskAndPowerOff?(instance: Instance, options: MigrateDiskOptions): Promise<string>;
  /**
   * D, second step: makes the guest, whose flavor is the new one already, of what S left. Any error sets the instance to
   * error on D.
   * @calledBy the destination of a cold migration or resize (6.3). The instance's lock.
   */
  finishMigration?(
    migration: Migration,
    instance: Instance,
    diskInfo: string,
    options: FinishMigrationOptions,
  ): Promise<void>;
  /**
   * S, when the move was confirmed: removes what S still has. Nothing left is success. With
   * `migration.sourceCompute === migration.destCompute` the guest itself must live on. Any error sets the instance to
   * error; its allocations of the source are dropped all the same.
   * @calledBy the source, when the move is confirmed (6.3). The instance's lock.
   */
  confirmMigration?(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void>;
  /**
   * S, when the move was reverted (D's guest was destroyed before, with `destroyDisks` false where S sees the same files, as
   * it does on the same host), and at start-up after an interrupted
   * {@link migrateDiskAndPowerOff} (spec 2.6): brings back the guest, whose flavor is the old one again, from any
   * half-done step. Default: power on, if that is wanted.
   * @calledBy the source, when the move is reverted or a soft delete has overtaken it (6.3), and start-up after an
   * interruption (2.6). The instance's lock.
   */
  finishRevertMigration?(instance: Instance, options: FinishRevertOptions): Promise<void>;

  /**
   * D, before the move is chosen: can it take the guest? The answer is given to S's check; what was made for the checks
   * is taken away by {@link cleanupLiveMigrationDestinationCheck}.
   * @throws {MigrationPreCheckError} as does any other error: another host is tried.
   * @calledBy the destination, asked by the conductor (6.5). No lock.
   */
  checkCanLiveMigrateDestination?(instance: Instance, options: LiveMigrationCheckOptions): Promise<LiveMigrateData>;
  /**
   * S, called by way of D: can the guest leave? Returns `data` with what S adds.
   * @throws {MigrationPreCheckError}
   * @calledBy the source, asked by the destination (6.5). No lock.
   */
  checkCanLiveMigrateSource?(
    instance: Instance,
    data: LiveMigrateData,
    options?: CallOptions,
  ): Promise<LiveMigrateData>;
  /**
   * D, always after the checks, also when they failed. Errors are logged. Default: nothing.
   * @calledBy the destination, after its check (6.5). No lock.
   */
  cleanupLiveMigrationDestinationCheck?(data: LiveMigrateData, options?: CallOptions): Promise<void>;
  /**
   * D: makes ready what the guest will need. Returns `data` with what D adds. Any error makes S roll back.
   * @calledBy the destination, asked by the source (6.5). No lock.
   */
  preLiveMigration?(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData>;
  /**
   * S: moves the running guest to `dest`, the name of the host. Calls exactly one of `postMethod` and `recoverMethod`,
   * exactly once, awaits it, and lets its error pass. An error before that means that nothing is known of the guest: the
   * instance is set to error and nothing is rolled back. At no moment may the guest run on both hosts.
   * @calledBy the source, when its turn in the queue has come (6.5). No lock: it takes long.
   */
  liveMigration?(instance: Instance, dest: string, options: LiveMigrationOptions): Promise<void>;
  /**
   * S: ends a running {@link liveMigration} soon, at the guest's expense (post-copy). Errors become a fault, the
   * migration goes on.
   * @calledBy the API (6.5). No lock.
   */
  liveMigrationForceComplete?(instance: Instance, options?: CallOptions): Promise<void>;
  /**
   * S: stops a running {@link liveMigration}, which then calls `recoverMethod` with `cancelled`. Errors become a fault,
   * the migration goes on. At start-up (spec 2.6): stops what an earlier process left running; nothing to stop is
   * success.
   * @calledBy the API, shutdown, and start-up after an interruption (2.6, 6.5). No lock.
   */
  liveMigrationAbort?(instance: Instance, options?: CallOptions): Promise<void>;
  /**
   * S, in `postMethod`: lets go of the guest's volumes. Default: nothing.
   * @calledBy the source, in postMethod (6.5). No lock.
   */
  postLiveMigration?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * S, after that: unplugs the guest's networks. Default: nothing.
   * @calledBy the source, in postMethod (6.5). No lock.
   */
  postLiveMigrationAtSource?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * D, after S let go: makes the guest's definition last. S finishes whatever this does. Default: nothing.
   * @calledBy the destination, asked by the source (6.5). No lock.
   */
  postLiveMigrationAtDestination?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * S, in `recoverMethod`. Default: nothing.
   * @calledBy the source, in recoverMethod (6.5). No lock.
   */
  rollbackLiveMigrationAtSource?(instance: Instance, options: PostLiveMigrationOptions): Promise<void>;
  /**
   * D, only when something was made there: removes it. Nothing left is success. Default: {@link cleanup}.
   * @calledBy the destination, asked by the source (6.5). No lock.
   */
  rollbackLiveMigrationAtDestination?(instance: Instance, options: RollbackAtDestinationOptions): Promise<void>;
  /**
   * S, last step of a live migration: removes what a guest that runs elsewhere left. Absent is success. Default:
   * `destroy`.
   * @throws {InstanceExists} the guest still runs here: nothing is removed.
   * @calledBy the source, at the end of a live migration (6.5). No lock.
   */
  cleanup?(instance: Instance, options: DestroyOptions): Promise<void>;
}
