import type { Instance } from "../../conductor/records/index.js";
import { KeyedLock } from "../../runtime/keyed-lock.js";
import { TaskQueue } from "../../runtime/queue.js";
import type { AgentContext, BuildRequestOptions, Operations, RebuildOptions, ResourceTracker } from "../contracts.js";
import { requestId as newRequestId } from "../parts.js";
import { buildInstance } from "./build-instance.js";
import { confirmResize } from "./cold-move/confirm-resize.js";
import { type FinishResizeRequest, finishResize } from "./cold-move/finish-resize.js";
import { finishRevertResize } from "./cold-move/finish-revert-resize.js";
import type { MoveRequest } from "./cold-move/move-request.js";
import { type PrepResizeRequest, prepResize } from "./cold-move/prep-resize.js";
import { findStuckMoves, type StuckMoveOptions } from "./cold-move/recover.js";
import { resizeInstance } from "./cold-move/resize-instance.js";
import { revertResize } from "./cold-move/revert-resize.js";
import { completePartialDeletion, deleteInstance } from "./delete-instance.js";
import { isLeaseLost, mustNotUndo } from "./error-wrappers.js";
import { IncomingMoves } from "./incoming-moves.js";
import type { LiveMigrationOperations } from "./live-migration/contract.js";
import { followDelete } from "./live-migration/follow-delete.js";
import { LiveMigrations } from "./live-migration/live-migrations.js";
import type { OperationParts, StepFaults } from "./parts.js";
import { rebootInstance, startInstance, stopInstance } from "./power.js";
import { syncInstancePowerState } from "./power-sync.js";
import { rebuildInstance } from "./rebuild-instance.js";
import { rescueInstance } from "./states/rescue-instance.js";
import { shelveInstance } from "./states/shelve-instance.js";
import { shelveOffloadInstance } from "./states/shelve-offload.js";
import { changeState, type StateChangeName } from "./states/state-changes.js";
import { type UnshelveRequest, unshelveInstance } from "./states/unshelve-instance.js";

export const createOperations = (context: AgentContext, tracker: ResourceTracker, faults?: StepFaults): Operations =>
  new InstanceOperations({ context, tracker, ...(faults ? { faults } : {}) });

/** Runs the flows of spec 6: one at a time for an instance, `max_concurrent_builds` builds at a time in all. */
export class InstanceOperations implements Operations {
  readonly liveMigrations: LiveMigrationOperations;
  readonly incoming = new IncomingMoves();
  readonly #parts: OperationParts;
  readonly #locks = new KeyedLock<string>();
  readonly #builds: TaskQueue;
  #active = 0;
  /** When a confirmation last ended without its answer, so that it may be `confirmed` and not over; ms. */
  #unsettledSince: number | null = null;

  constructor(given: Omit<OperationParts, "incoming">) {
    const parts = { ...given, incoming: this.incoming };
    this.#parts = parts;
    this.liveMigrations = new LiveMigrations(parts);
    this.#builds = new TaskQueue(parts.context.config.defaults.maxConcurrentBuilds);
  }

  get active(): number {
    return this.#active;
  }

  async buildAndRunInstance(request: BuildRequestOptions): Promise<void> {
    const parts = this.#for(request.requestId);
    // A build that waits for its turn holds no lock, so that the instance can be deleted meanwhile.
    await this.#tracked(() =>
      this.#builds.run(() => this.#locks.run(request.instanceUuid, () => buildInstance(parts, request))),
    );
  }

  async terminateInstance({ uuid }: Instance, requestId: string): Promise<void> {
    const parts = this.#for(requestId);
    await this.#tracked(async () => {
      // A copy that is under way holds no lock: it is stopped, or the delete follows the guest.
      if ((await this.liveMigrations.settle(uuid)) && (await followDelete(parts, uuid, requestId))) return;
      await this.#locks.run(uuid, () => deleteInstance(parts, uuid, requestId));
    });
  }

  async completePartialDeletion(instance: Instance): Promise<void> {
    await this.#serial(instance.uuid, () => completePartialDeletion(this.#parts, instance));
  }

  async rebuildInstance(request: RebuildOptions): Promise<void> {
    await this.#serial(request.instanceUuid, () => rebuildInstance(this.#for(request.requestId), request));
  }

  async startInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => startInstance(this.#for(requestId), instance, requestId));
  }

  async stopInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => stopInstance(this.#for(requestId), instance, requestId));
  }

  async rebootInstance(instance: Instance, type: "SOFT" | "HARD", requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => rebootInstance(this.#for(requestId), instance, type, requestId));
  }

  async unpauseInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => changeState(this.#for(requestId), "unpause", instance, requestId));
  }

  async prepResize(request: PrepResizeRequest): Promise<void> {
    await this.#move(prepResize, request);
  }

  async resizeInstance(request: MoveRequest): Promise<void> {
    await this.#move(resizeInstance, request);
  }

  async finishResize(request: FinishResizeRequest): Promise<void> {
    await this.#move(finishResize, request);
  }

  async confirmResize(request: MoveRequest): Promise<void> {
    try {
      await this.#move(confirmResize, request);
    } catch (error) {
      if (mustNotUndo(error)) this.#unsettledSince = this.#parts.context.runtime.clock.now();
      throw error;
    }
  }

  async revertResize(request: MoveRequest): Promise<void> {
    await this.#move(revertResize, request);
  }

  async finishRevertResize(request: MoveRequest): Promise<void> {
    await this.#move(finishRevertResize, request);
  }

  async recoverColdMoves(options: StuckMoveOptions): Promise<void> {
    const { context } = this.#parts;
    const since = this.#unsettledSince;
    const confirmed = options.confirmed || since !== null;
    const found = await findStuckMoves(context, { ...options, confirmed });
    if (since !== null && since <= options.before) this.#unsettledSince = null;
    for (const move of found) {
      const { instanceUuid, migrationId } = move;
      const requestId = newRequestId(context);
      const fields = { instance: instanceUuid, migration: migrationId, request_id: requestId };
      context.runtime.logger.info("a move that was interrupted goes on", fields);
      try {
        await this.#serial(instanceUuid, () => move.resume(this.#for(requestId), requestId));
      } catch (err) {
        this.#unsettledSince = context.runtime.clock.now();
        if (isLeaseLost(err)) throw err;
        context.runtime.logger.error("a move that was interrupted could not be put right", { ...fields, err });
      }
    }
  }

  async changeState(change: StateChangeName, instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => changeState(this.#for(requestId), change, instance, requestId));
  }

  async rescueInstance(instance: Instance, imageRef: string | undefined, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => rescueInstance(this.#for(requestId), instance, imageRef, requestId));
  }

  async shelveInstance(instance: Instance, imageId: string, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => shelveInstance(this.#for(requestId), instance, imageId, requestId));
  }

  async shelveOffloadInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => shelveOffloadInstance(this.#for(requestId), instance, requestId));
  }

  async unshelveInstance(request: UnshelveRequest): Promise<void> {
    await this.#move(unshelveInstance, request);
  }

  async syncInstancePowerState({ uuid }: Instance): Promise<void> {
    await this.#serial(uuid, () => syncInstancePowerState(this.#parts, uuid));
  }

  async #move<R extends { readonly instanceUuid: string; readonly requestId: string }>(
    flow: (parts: OperationParts, request: R) => Promise<void>,
    request: R,
  ): Promise<void> {
    await this.#serial(request.instanceUuid, () => flow(this.#for(request.requestId), request));
  }

  /** Everything that the operation logs carries its request id. */
  #for(requestId: string): OperationParts {
    const { context } = this.#parts;
    const logger = context.runtime.logger.child({ request_id: requestId });
    return { ...this.#parts, context: { ...context, runtime: { ...context.runtime, logger } } };
  }

  async #serial(uuid: string, task: () => Promise<void>): Promise<void> {
    await this.#tracked(() => this.#locks.run(uuid, task));
  }

  async #tracked(task: () => Promise<void>): Promise<void> {
    this.#active += 1;
    try {
      await task();
    } finally {
      this.#active -= 1;
    }
  }
}
