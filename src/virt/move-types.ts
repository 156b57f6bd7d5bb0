import type { Allocations, BlockDeviceInfo, CallOptions, Flavor, ImageMeta, Migration, NetworkInfo } from "./types.js";

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
