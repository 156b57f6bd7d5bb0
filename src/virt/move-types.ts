import type { Allocations, BlockDeviceInfo, CallOptions, Flavor, ImageMeta, Migration, NetworkInfo } from "./types.js";

export interface MigrateDiskOptions extends CallOptions {
  /** IP address of the destination (`migration.dest_host`); the driver's own address in a same-host resize. */
  readonly destIp: string;
  /** The flavor that the guest will have; equal to the instance's own in a cold migration. */
  readonly flavor: Flavor;
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
  /** Seconds that the guest has to shut down before its plug is pulled. */
  readonly timeout?: number;
}

export interface FinishMigrationOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
  readonly image: ImageMeta;
  /** What the instance holds on D, for nested providers. Left out: the guest gets no devices but those that it has. */
  readonly allocations?: Allocations;
  /** A disk changes its size. */
  readonly resizeInstance: boolean;
  readonly blockDevices: BlockDeviceInfo;
  /** False: the guest is defined and left shut down. */
  readonly powerOn: boolean;
}

export interface ConfirmMigrationOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
}

export interface FinishRevertOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
  /** What the instance holds on S again. Left out: the guest gets the devices that its definition still names. */
  readonly allocations?: Allocations;
  /** Null at start-up, when no record of the move is left. */
  readonly migration: Migration | null;
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
  /** The driver's own. */
  readonly [key: string]: unknown;
}

export interface LiveMigrationCheckOptions extends CallOptions {
  /** As the API was asked; null: as the storage needs. */
  readonly blockMigration: boolean | null;
  /** Count disks by what they take, not by what they may grow to. */
  readonly diskOverCommit: boolean;
}

export interface PreLiveMigrationOptions extends CallOptions {
  readonly blockDevices: BlockDeviceInfo;
  readonly network: readonly NetworkInfo[];
  /** The source's disks, in the form of the driver. */
  readonly diskInfo?: string;
  readonly data: LiveMigrateData;
}

/** Bytes, as the migration record has them. */
export interface LiveMigrationProgress {
  readonly memoryTotal: number;
  readonly memoryProcessed: number;
  readonly memoryRemaining: number;
  readonly diskTotal: number;
  readonly diskProcessed: number;
  readonly diskRemaining: number;
}

/** Why a live migration did not come about. `cancelled`: it was aborted. */
export type LiveMigrationFailure = "failed" | "cancelled";

export interface LiveMigrationOptions extends CallOptions {
  readonly blockMigration: boolean;
  readonly data: LiveMigrateData;
  /** May be called at any time until a call-back is; errors of it never reach the driver. */
  readonly onProgress: (progress: LiveMigrationProgress) => void;
  /** The guest runs on the destination and no longer here. Rejects when what follows went wrong. */
  readonly postMethod: () => Promise<void>;
  /** The guest still runs here and nowhere else. */
  readonly recoverMethod: (outcome: { readonly status: LiveMigrationFailure }) => Promise<void>;
}

export interface PostLiveMigrationOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
  readonly data: LiveMigrateData;
}

export interface RollbackAtDestinationOptions extends CallOptions {
  readonly network: readonly NetworkInfo[];
  readonly blockDevices: BlockDeviceInfo;
  /** False: the files are shared with the source. */
  readonly destroyDisks: boolean;
  readonly data: LiveMigrateData;
}
