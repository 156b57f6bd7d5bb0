import type { LeaseHolder } from "../../conductor-client/methods/session.js";
import type { Allocations } from "../../placement-client/types.js";
import type { InstanceChanges, MigrationStatus } from "../../records/index.js";
import type { StartupRejection } from "../rejections.js";
import type { ProviderConflict } from "../tracker/provider-names.js";

/** The effects that a start would have; plain data, for `--dry-run` and its `--json`. */
export interface DryRunReport {
  readonly host: string;
  /** The reason why the agent would not start; null: it would start. Every list below is empty if it is set. */
  readonly rejection: StartupRejection | null;
  /** The agent that has the host's lease, so that a start now would wait for it or fail; null: the lease is free. */
  readonly lease: LeaseHolder | null;
  /** Providers in Placement that contradict the host's nodes: the agent would start, but could not update them. */
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
  /** `probe`: decided at start-up by probing the storage. Null: no disk is affected. */
  readonly disks: "destroy" | "keep" | "probe" | null;
  readonly disksReason: string;
}

/** A change of a consumer's allocations in Placement. */
export interface AllocationEdit {
  readonly consumer: string;
  readonly consumerType: "instance" | "migration";
  readonly reason: string;
  readonly before: Allocations;
  readonly after: Allocations;
  /** Names of the affected providers of this host: uuid → name. */
  readonly providers: Readonly<Record<string, string>>;
}

/** An instance whose record would change, or on which an action would run. */
export interface InstancePlan {
  readonly instance: string;
  readonly name: string;
  readonly reason: string;
  /** The action besides the changes: `reboot HARD`, `complete the delete` … */
  readonly action: string | null;
  readonly changes: InstanceChanges;
}

export interface MigrationPlan {
  readonly migration: number;
  readonly instance: string;
  readonly from: MigrationStatus;
  /** Equal to `from`: the record would be left, for the reason in `reason`. */
  readonly to: MigrationStatus;
  readonly reason: string;
}
