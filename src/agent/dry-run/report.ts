import type { LeaseHolder } from "../../conductor-client/methods/session.js";
import type { Allocations } from "../../placement-client/types.js";
import type { InstanceChanges, MigrationStatus } from "../../records/index.js";
import type { StartupRejection } from "../rejections.js";
import type { ProviderConflict } from "../tracker/provider-names.js";

/** What a start-up would do; plain data, for `--dry-run` and its `--json`. */
export interface DryRunReport {
  readonly host: string;
  /** The agent would refuse to start, and do nothing of what follows (which is then empty). */
  readonly rejection: StartupRejection | null;
  /** Another agent acts for the host, so that a start now would wait for it or refuse; null: the host is free. */
  readonly lease: LeaseHolder | null;
  /** Providers in Placement that contradict the host's nodes: the agent would start, and could not update them. */
  readonly providerConflicts: readonly ProviderConflict[];
  readonly guests: readonly GuestPlan[];
  readonly allocations: readonly AllocationEdit[];
  readonly instances: readonly InstancePlan[];
  readonly migrations: readonly MigrationPlan[];
}

/** A guest on the hypervisor that would be destroyed or stopped. */
export interface GuestPlan {
  readonly instance: string;
  readonly name: string;
  readonly action: "destroy" | "stop";
  readonly reason: string;
  /** `probe`: decided at start-up, by asking the storage. Null where no disk is concerned. */
  readonly disks: "destroy" | "keep" | "probe" | null;
  readonly disksReason: string;
}

/** A change of what a consumer holds in Placement. */
export interface AllocationEdit {
  readonly consumer: string;
  readonly consumerType: "instance" | "migration";
  readonly reason: string;
  readonly before: Allocations;
  readonly after: Allocations;
  /** Names of the providers concerned, where they are this host's: uuid → name. */
  readonly providers: Readonly<Record<string, string>>;
}

/** An instance whose record would change, or that would be acted on. */
export interface InstancePlan {
  readonly instance: string;
  readonly name: string;
  readonly reason: string;
  /** What would be done besides the changes: `reboot HARD`, `complete the delete` … */
  readonly action: string | null;
  readonly changes: InstanceChanges;
}

export interface MigrationPlan {
  readonly migration: number;
  readonly instance: string;
  readonly from: MigrationStatus;
  /** Equal to `from`: the record would be left, for the reason given. */
  readonly to: MigrationStatus;
  readonly reason: string;
}
