import type { Instance, RetryInfo, Selection } from "../../records/index.js";
import type { Allocations } from "../../virt/types.js";
import type { FinishResizeRequest } from "./cold-move/finish-resize.js";
import type { MoveRequest } from "./cold-move/move-request.js";
import type { PrepResizeRequest } from "./cold-move/prep-resize.js";
import type { StuckMoveOptions } from "./cold-move/recover.js";
import type { LiveMigrationOperations } from "./live-migration/contract.js";
import type { IncomingMoves } from "./moves/incoming-moves.js";
import type { StateChangeName } from "./states/state-changes.js";
import type { UnshelveRequest } from "./states/unshelve-instance.js";

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
