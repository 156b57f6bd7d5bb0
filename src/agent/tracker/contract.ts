import type {
  Instance,
  InstanceChanges,
  Migration,
  MigrationChanges,
  MigrationStatus,
  TaskState,
  VmState,
} from "../../records/index.js";
import { PublicError } from "../../runtime/error-messages.js";
import type { InventoryRecord } from "../../virt/provider-tree.js";

export interface Claim {
  /** The instance (and migration) as saved by the claim. */
  readonly instance: Instance;
  readonly migration: Migration | null;
  /**
   * Reverts the claim's usage and its writes; never changes allocations (spec 4.2). Returns the instance as it is then.
   * @throws UnexpectedTaskState: nothing was reverted
   */
  abort(options?: ClaimAbort): Promise<Instance>;
}

/** The changes that a claim saves with it, and the task_states that it expects before. */
export interface BegunTask {
  readonly changes: InstanceChanges;
  readonly expectedTaskState: readonly (TaskState | null)[];
}

/** The changes that are saved in the same lock section as the abort (spec V20). */
export interface ClaimAbort {
  readonly instance?: InstanceChanges;
  /** Set by a build and an unshelve; a move's claim is reverted whichever request owns the instance. */
  readonly expectedTaskState?: readonly (TaskState | null)[];
  readonly migrationStatus?: MigrationStatus;
}

/** A write that changes the nodes on which a moving instance counts. */
export interface MoveWrite {
  /** As last read. */
  readonly instance: Instance;
  readonly changes: InstanceChanges;
  readonly expectedHost?: string;
  readonly expectedTaskState?: readonly (TaskState | null)[];
  readonly expectedVmState?: readonly VmState[];
  readonly migration: Migration;
  readonly migrationChanges?: MigrationChanges;
  /**
   * True if the instance is on its way back to the source: this host no longer counts it, although the row still names
   * it.
   */
  readonly leaves?: boolean;
}

export interface Moved {
  readonly instance: Instance;
  readonly migration: Migration;
}

type TrackerErrorCode =
  /** The tracker is bound to one Service row and got another (spec 2.1 step 5). */
  | "ComputeServiceInUse"
  /** The Service row belongs to another host (spec 2.1 step 5). */
  | "ServiceNotUnique"
  /** A guest's discrete resource is no longer in the provider tree (spec 4.4 step 12). */
  | "AssignedResourceNotFound"
  /** A file of `[compute] provider_config_location` breaks a rule of its schema (spec 4.9); fatal at start. */
  | "ProviderConfigException"
  /** provider.yaml contradicts the driver or Placement; that node's pass fails (spec 4.9). */
  | "ValueError";

/** An error of the tracker itself; the names are OpenStack's. */
export class TrackerError extends PublicError {
  readonly code: TrackerErrorCode;
  override readonly name: TrackerErrorCode;

  constructor(code: TrackerErrorCode, message: string) {
    super(message);
    this.code = code;
    this.name = code;
  }
}

/** One entry of a provider.yaml (spec 4.9). */
export interface ProviderConfig {
  readonly file: string;
  /** A uuid, `$COMPUTE_NODE`, or a provider's name. */
  readonly identification: { readonly uuid: string } | { readonly name: string };
  readonly inventories: Readonly<Record<string, InventoryRecord>>;
  readonly traits: readonly string[];
}

/** Matches every root that is a compute node and has no entry of its own. */
export const EVERY_COMPUTE_NODE = "$COMPUTE_NODE";

/** An instance without a host (spec 1.4); it is then in no availability zone. */
export const UNPLACED = {
  host: null,
  node: null,
  computeId: null,
  availabilityZone: null,
} as const satisfies InstanceChanges;
