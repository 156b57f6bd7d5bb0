import type { Instance, Migration, MigrationChanges, MigrationStatus } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/local-disks.js";
import type { LiveMigrateData } from "../../../virt/move-types.js";
import type { OperationServices } from "../contract.js";
import type { OutgoingMigration } from "./outgoing-migration.js";

/** How the driver, or what came before it, ended. */
type CopyOutcome = "moved" | "failed" | "cancelled";

/** One live migration on its source, from the queue to its end. */
export interface Flow {
  readonly services: OperationServices;
  readonly requestId: string;
  readonly entry: OutgoingMigration;
  /** Name of the destination's host. */
  readonly dest: string;
  instance: Instance;
  migration: Migration;
  /** As the last of the two drivers left it. */
  data: LiveMigrateData;
  /** The destination was asked to make something ready. */
  prepared: boolean;
  /** The driver was asked to move the guest: from then on only it knows where the guest is. */
  copying: boolean;
  outcome: CopyOutcome | null;
  /** What the migration's record has not yet of how far the copy came. */
  progress: MigrationChanges;
  /** What the records get when it is taken back. */
  end: { readonly status: MigrationStatus; readonly vmState?: "error" };
  /** It is recovered: a host that does not answer is asked again later, and nothing is forced. */
  readonly isRecovery: boolean;
  /** The records of the destination's half are written already, or never will be. */
  arrived: boolean;
  /** What has gone wrong on the way to the end. */
  error: unknown;
}

export function fieldsOf({ instance, migration }: Pick<Flow, "instance" | "migration">) {
  return {
    instance: instance.uuid,
    migration: migration.id,
  };
}

/** Data of a peer's driver, of which only the peer can say more. Files that may be shared are taken to be. */
export function driverData(data: Readonly<Record<string, unknown>>): LiveMigrateData {
  return {
    ...data,
    blockMigration: data.blockMigration === true,
    sharedInstanceFiles: data.sharedInstanceFiles !== false,
  };
}

/** What the driver's steps before and after the copy are given. */
export const moveOptions = (data: LiveMigrateData) => ({ network: [], blockDevices: LOCAL_DISKS, data });
