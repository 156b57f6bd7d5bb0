import type {
  ComputeNode,
  Flavor,
  Instance,
  InstanceChanges,
  Migration,
  MigrationChanges,
  MigrationStatus,
  Service,
  TaskState,
  VmState,
} from "../../records/index.js";
import { PublicError } from "../../runtime/error-messages.js";
import type { InventoryRecord } from "../../virt/provider-tree.js";
import type { Allocations } from "../../virt/types.js";

/**
 * The resource tracker (spec 4). One for all nodes of the agent; everything except the driver's listing runs under one
 * fair lock.
 */
export interface ResourceTracker {
  /** @throws ComputeServiceInUse for a service other than the bound one, ServiceNotUnique for another host's */
  bindService(service: Service): void;
  /** Spec 4.3; at start-up only the fatal classes of 4.8 are thrown. */
  updateAvailableResource(options: { readonly startup: boolean }): Promise<void>;
  /** Updates one node, e.g. after a live migration. */
  updateAvailableResourceForNode(node: string): Promise<void>;
  /**
   * @param begun changes that are saved with the claim
   * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance does not have the expected task_state
   */
  instanceClaim(
    instance: Instance,
    node: string,
    allocations: Allocations,
    requestId?: string,
    begun?: BegunTask,
  ): Promise<Claim>;
  /** A move claim of type evacuation. @throws {ComputeResourcesUnavailable} */
  rebuildClaim(
    instance: Instance,
    node: string,
    migration: Migration,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim>;
  /**
   * A move claim with the new flavor, and the instance's context and new flavor (spec 6.3 row 4).
   * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is not in resize_prep
   */
  resizeClaim(
    instance: Instance,
    node: string,
    migration: Migration,
    newFlavor: Flavor,
    allocations: Allocations,
    requestId?: string,
  ): Promise<Claim>;
  /**
   * Saves instance and migration in one write and recounts them on this host's nodes in the same lock section (spec
   * V20).
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written
   */
  saveMove(write: MoveWrite): Promise<Moved>;
  /** Sets status `confirmed`, removes the old flavor's usage and the context (spec 4.2). @throws as {@link saveMove} */
  dropMoveClaimAtSource(
    move: Moved,
    changes: InstanceChanges,
    expectedTaskState: readonly (TaskState | null)[],
  ): Promise<Moved>;
  /** Sets status `reverted`, reverts the context (spec 4.2); only in task `resize_reverting`. @throws as {@link saveMove} */
  dropMoveClaimAtDestination(move: Moved, changes: InstanceChanges): Promise<Moved>;
  /**
   * Sets host, node and compute id to this host's, applies and drops the context, sets status `done`; one lock section
   * (spec V28). Saves `changes` in the same write, if the task state still is one of `expected`, and of that request.
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written
   */
  finishEvacuation(
    instance: Instance,
    node: string,
    migration: Migration,
    changes: InstanceChanges,
    expected: { readonly taskState: readonly TaskState[]; readonly ofRequest: string },
  ): Promise<Instance>;
  /**
   * Records that the guest of a live migration runs here now, if the instance still is on host `source` (spec 6.5 row
   * 8, V20). Sets host, node and compute id to this host's, saves `changes` in the same write, and counts the instance
   * in the same lock section.
   * @throws ObjectActionError (`host changed`), UnexpectedTaskState, InstanceNotFound: nothing was written
   */
  finishLiveMigration(
    instance: Instance,
    node: string,
    changes: InstanceChanges,
    expected: { readonly source: string | null; readonly taskState?: readonly (TaskState | null)[] },
  ): Promise<Instance>;
  /** Recounts one instance after it was changed or deleted; under the lock. */
  updateUsage(instance: Instance, node: string): Promise<void>;
  /**
   * Saves changes that affect whether an instance counts on its node, and recounts it in the same lock section (spec
   * V20). A node that is not tracked is no error. Updates Placement and the node's row like the other methods.
   */
  saveInstance(
    instance: Instance,
    changes: InstanceChanges,
    expectedTaskState?: readonly (TaskState | null)[],
  ): Promise<Instance>;
  /** Counts towards `[compute] consecutive_build_service_disable_threshold`; a success resets the count. */
  noteBuild(node: string, result: "succeeded" | "failed"): void;
  /** Returns the tracked nodes, by name. Empty until the first pass. */
  nodes(): ReadonlyMap<string, ComputeNode>;
  /** Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5); logs failures. */
  setHostEnabled(enabled: boolean, requestId: string): Promise<void>;
}

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
