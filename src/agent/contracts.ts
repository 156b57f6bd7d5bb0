import type { HostSession } from "../conductor/port.js";
import type {
  ComputeNode,
  Flavor,
  Instance,
  InstanceChanges,
  Migration,
  MigrationStatus,
  RetryInfo,
  Selection,
  Service,
  TaskState,
} from "../conductor/records/index.js";
import type { NovaConfig } from "../config/nova-config.js";
import type { ReportClient } from "../placement/report-client.js";
import type { Runtime } from "../runtime/runtime.js";
import type { DriverHost } from "../virt/driver-host.js";
import type { Allocations } from "../virt/types.js";
import type { FinishResizeRequest } from "./operations/cold-move/finish-resize.js";
import type { MoveRequest } from "./operations/cold-move/move-request.js";
import type { PrepResizeRequest } from "./operations/cold-move/prep-resize.js";
import type { StuckMoveOptions } from "./operations/cold-move/recover.js";
import type { IncomingMoves } from "./operations/incoming-moves.js";
import type { LiveMigrationOperations } from "./operations/live-migration/contract.js";
import type { StateChangeName } from "./operations/states/state-changes.js";
import type { UnshelveRequest } from "./operations/states/unshelve-instance.js";
import type { Moved, MoveWrite } from "./tracker/move-writes.js";

/** What every part of one host's agent works with. Made once, by `createAgent`. */
export interface AgentContext {
  readonly host: string;
  readonly config: NovaConfig;
  readonly runtime: Runtime;
  readonly conductor: HostSession;
  readonly driver: DriverHost;
  readonly placement: ReportClient;
  /** Reads or makes the host's stable uuid (spec 2.3). */
  readonly localNodeUuid: () => Promise<string>;
}

/** Spec 4. One for all nodes of the agent; everything but the driver's listing runs under one fair lock. */
export interface ResourceTracker {
  /** @throws ComputeServiceInUse for another service than the one bound, ServiceNotUnique for another host's. */
  bindService(service: Service): void;
  /** Spec 4.3; at start-up only the fatal classes of 4.8 propagate. */
  updateAvailableResource(options: { readonly startup: boolean }): Promise<void>;
  /** One node's part of it, as after a live migration. */
  updateAvailableResourceForNode(node: string): Promise<void>;
  /** @throws {ComputeResourcesUnavailable} */
  instanceClaim(instance: Instance, node: string, allocations: Allocations, requestId?: string): Promise<Claim>;
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
   * `changes` are written together with it, if the task state still is one of `expectedTaskState`.
   * @throws UnexpectedTaskState, InstanceNotFound: nothing was written then.
   */
  finishEvacuation(
    instance: Instance,
    node: string,
    migration: Migration,
    changes?: InstanceChanges,
    expectedTaskState?: readonly (TaskState | null)[],
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
  setHostEnabled(enabled: boolean, requestId?: string): Promise<void>;
}

export interface Claim {
  /** The instance (and migration) as the claim saved them. */
  readonly instance: Instance;
  readonly migration: Migration | null;
  /** Takes back the claim's usage and what it wrote; never touches allocations (spec 4.2). The instance as it is then. */
  abort(options?: ClaimAbort): Promise<Instance>;
}

/** What is written in the same lock section as the abort (spec V20). */
export interface ClaimAbort {
  readonly instance?: InstanceChanges;
  readonly migrationStatus?: MigrationStatus;
}

/**
 * Operations on instances; each reads as its table of spec 6. Serialised per instance, and begun only when the instance is
 * where the operation needs it and its task_state is the request's (admission-rules.ts); else nothing is done to it.
 */
export interface Operations {
  buildAndRunInstance(request: BuildRequestOptions): Promise<void>;
  /** Spec 6.2; also completes the ones that a restart finds in task `deleting`. */
  terminateInstance(instance: Pick<Instance, "uuid">, requestId: string): Promise<void>;
  /** What is left of a delete that died between "vm deleted" and "row destroyed" (spec 2.6). */
  completePartialDeletion(instance: Instance): Promise<void>;
  /** Evacuation on the destination (spec 6.7), or a rebuild in place (6.6). */
  rebuildInstance(request: RebuildOptions): Promise<void>;
  startInstance(instance: Pick<Instance, "uuid">, requestId: string): Promise<void>;
  stopInstance(instance: Pick<Instance, "uuid">, requestId: string): Promise<void>;
  rebootInstance(instance: Pick<Instance, "uuid">, type: "SOFT" | "HARD", requestId: string): Promise<void>;
  /** Spec 6.3 row 4, on the destination. */
  prepResize(request: PrepResizeRequest): Promise<void>;
  /** Spec 6.3 rows 5 and 6, on the source. */
  resizeInstance(request: MoveRequest): Promise<void>;
  /** Spec 6.3 row 7, on the destination. */
  finishResize(request: FinishResizeRequest): Promise<void>;
  /** Spec 6.3 "Confirm", on the source. */
  confirmResize(request: MoveRequest): Promise<void>;
  /** Spec 6.3 "Revert": destination, then source. */
  revertResize(request: MoveRequest): Promise<void>;
  finishRevertResize(request: MoveRequest): Promise<void>;
  /** Spec 2.6 OPT: goes on with, or ends, cold moves of this host's that nobody works on any more. */
  recoverColdMoves(options: StuckMoveOptions): Promise<void>;
  /** Pause, suspend and the like. */
  changeState(change: StateChangeName, instance: Pick<Instance, "uuid">, requestId: string): Promise<void>;
  rescueInstance(instance: Pick<Instance, "uuid">, imageRef: string | undefined, requestId: string): Promise<void>;
  /** Spec 6.6. */
  shelveInstance(instance: Pick<Instance, "uuid">, imageId: string, requestId: string): Promise<void>;
  shelveOffloadInstance(instance: Pick<Instance, "uuid">, requestId: string): Promise<void>;
  unshelveInstance(request: UnshelveRequest): Promise<void>;
  /** Spec 4.10 `_sync_power_states` for one instance. */
  syncInstancePowerState(instance: Instance): Promise<void>;
  /** Spec 6.5. */
  readonly liveMigrations: LiveMigrationOperations;
  /** Moves to this host whose guests are on their way; shutdown waits for them. */
  readonly incoming: IncomingMoves;
  /** Operations that are under way now; shutdown waits for them. */
  readonly active: number;
}

export interface BuildRequestOptions {
  readonly instanceUuid: string;
  readonly allocations: Allocations;
  readonly node: string;
  readonly alternates: readonly Selection[];
  readonly retry?: RetryInfo;
  readonly requestId: string;
}

export interface RebuildOptions {
  readonly instanceUuid: string;
  readonly migrationId: number | null;
  readonly onSharedStorage: boolean | null;
  readonly recreate: boolean;
  readonly node: string;
  readonly imageRef: string;
  readonly targetStopped: boolean;
  readonly requestId: string;
}

/** The life of an agent (spec 2.1, 2.8). */
export type AgentState =
  | "connecting"
  | "starting"
  | "guarding"
  | "cleaning"
  | "initializing"
  | "registering"
  | "tracking"
  | "serving"
  | "draining"
  | "stopped"
  | "failed";
