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

/** Spec 4. One for all nodes of the agent; everything but the driver's listing runs under one fair lock. */
export interface ResourceTracker {
  /** @throws ComputeServiceInUse for another service than the one bound, ServiceNotUnique for another host's. */
  bindService(service: Service): void;
  /** Spec 4.3; at start-up only the fatal classes of 4.8 propagate. */
  updateAvailableResource(options: { readonly startup: boolean }): Promise<void>;
  /** One node's part of it, as after a live migration. */
  updateAvailableResourceForNode(node: string): Promise<void>;
  /**
   * @param begun is written with it
   * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is not in the task that is expected.
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
   * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is not in resize_prep.
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
   * Writes instance and migration together and recounts them on this host's nodes in the same lock section (spec V20).
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written.
   */
  saveMove(write: MoveWrite): Promise<Moved>;
  /** Status `confirmed`, old flavor's usage and context gone (spec 4.2). @throws as {@link saveMove} */
  dropMoveClaimAtSource(
    move: Moved,
    changes: InstanceChanges,
    expectedTaskState: readonly (TaskState | null)[],
  ): Promise<Moved>;
  /** Status `reverted`, context reverted (spec 4.2); only in task `resize_reverting`. @throws as {@link saveMove} */
  dropMoveClaimAtDestination(move: Moved, changes: InstanceChanges): Promise<Moved>;
  /**
   * host, node and compute id := here, context applied and dropped, then status `done`; one lock section (spec V28).
   * `changes` are written together with it, if the task state still is one of `expected`, and of that request.
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written then.
   */
  finishEvacuation(
    instance: Instance,
    node: string,
    migration: Migration,
    changes: InstanceChanges,
    expected: { readonly taskState: readonly TaskState[]; readonly ofRequest: string },
  ): Promise<Instance>;
  /**
   * The guest of a live migration runs here now: host, node and compute id := here, together with `changes`, and counted in
   * the same lock section (spec 6.5 row 8, V20), if the instance still is on host `source`.
   * @throws ObjectActionError (`host changed`), UnexpectedTaskState, InstanceNotFound: nothing was written then.
   */
  finishLiveMigration(
    instance: Instance,
    node: string,
    changes: InstanceChanges,
    expected: { readonly source: string | null; readonly taskState?: readonly (TaskState | null)[] },
  ): Promise<Instance>;
  /** Recounts one instance after it changed or went; under the lock. */
  updateUsage(instance: Instance, node: string): Promise<void>;
  /**
   * Writes to an instance what changes whether it counts on its node, and recounts it in the same lock section (spec V20).
   * A node that is not tracked is no error. Placement and the node's row are brought up to date as by the other methods.
   */
  saveInstance(
    instance: Instance,
    changes: InstanceChanges,
    expectedTaskState?: readonly (TaskState | null)[],
  ): Promise<Instance>;
  /** Counts towards `[compute] consecutive_build_service_disable_threshold`; a success starts the count again. */
  noteBuild(node: string, result: "succeeded" | "failed"): void;
  /** Nodes that the tracker knows, by name. Empty until the first pass. */
  nodes(): ReadonlyMap<string, ComputeNode>;
  /** Sets or clears COMPUTE_STATUS_DISABLED on every node (spec 2.5); failures are logged. */
  setHostEnabled(enabled: boolean, requestId: string): Promise<void>;
}

export interface Claim {
  /** The instance (and migration) as the claim saved them. */
  readonly instance: Instance;
  readonly migration: Migration | null;
  /**
   * Takes back the claim's usage and what it wrote; never touches allocations (spec 4.2). The instance as it is then.
   * @throws UnexpectedTaskState: nothing was taken back
   */
  abort(options?: ClaimAbort): Promise<Instance>;
}

/** What an instance does from its claim on, and before. */
export interface BegunTask {
  readonly changes: InstanceChanges;
  readonly expectedTaskState: readonly (TaskState | null)[];
}

/** What is written in the same lock section as the abort (spec V20). */
export interface ClaimAbort {
  readonly instance?: InstanceChanges;
  /** A build and an unshelve have it; a move's claim is taken back whoever has the instance. */
  readonly expectedTaskState?: readonly (TaskState | null)[];
  readonly migrationStatus?: MigrationStatus;
}

/** A write that changes which nodes a moving instance counts on. */
export interface MoveWrite {
  /** As it was read last. */
  readonly instance: Instance;
  readonly changes: InstanceChanges;
  readonly expectedHost?: string;
  readonly expectedTaskState?: readonly (TaskState | null)[];
  readonly expectedVmState?: readonly VmState[];
  readonly migration: Migration;
  readonly migrationChanges?: MigrationChanges;
  /** The instance is on its way back to the source: this host counts it no more, although the row still names it. */
  readonly leaves?: boolean;
}

export interface Moved {
  readonly instance: Instance;
  readonly migration: Migration;
}

/** Base of what the tracker raises on purpose; names are OpenStack's. */
class TrackerError extends PublicError {
  override readonly name: string = "TrackerError";
}

/** The tracker is bound to one Service row and was given another (spec 2.1 step 5). */
export class ComputeServiceInUse extends TrackerError {
  override readonly name = "ComputeServiceInUse";
}

/** The Service row is another host's (spec 2.1 step 5). */
export class ServiceNotUnique extends TrackerError {
  override readonly name = "ServiceNotUnique";
}

/** A discrete resource that a guest was given is not in the provider tree any more (spec 4.4 step 12). */
export class AssignedResourceNotFound extends TrackerError {
  override readonly name = "AssignedResourceNotFound";
}

/** A file of `[compute] provider_config_location` breaks a rule of its schema (spec 4.9); fatal at start. */
export class ProviderConfigException extends TrackerError {
  override readonly name = "ProviderConfigException";
}

/** provider.yaml contradicts what the driver or Placement says of a provider; that node's pass fails (spec 4.9). */
export class ProviderConfigConflict extends TrackerError {
  override readonly name = "ValueError";
}

/** One entry of a provider.yaml (spec 4.9). */
export interface ProviderConfig {
  readonly file: string;
  /** A uuid, `$COMPUTE_NODE`, or a provider's name. */
  readonly identification: { readonly uuid: string } | { readonly name: string };
  readonly inventories: Readonly<Record<string, InventoryRecord>>;
  readonly traits: readonly string[];
}

/** Stands for every root that is a compute node and has no entry of its own. */
export const EVERY_COMPUTE_NODE = "$COMPUTE_NODE";

/** An instance that no host has (spec 1.4); without a host it is in no availability zone. */
export const UNPLACED = {
  host: null,
  node: null,
  computeId: null,
  availabilityZone: null,
} as const satisfies InstanceChanges;
