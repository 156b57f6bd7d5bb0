import type { AgentMethod, AgentMethods } from "../../conductor/methods/agent.js";
import type { ParamsOf } from "../../conductor/methods/method.js";
import type { Instance } from "../../records/index.js";
import { KeyedLock } from "../../runtime/keyed-lock.js";
import { TaskQueue } from "../../runtime/queue.js";
import type { AgentContext } from "../context.js";
import { requestId as newRequestId } from "../context.js";
import type { ResourceTracker } from "../tracker/contract.js";
import { admit, type Found, type Message, type Refusal } from "./admission/admission.js";
import type { GatedMethod } from "./admission/admission-rules.js";
import { type Leftovers, refuseMessage } from "./admission/refuse-message.js";
import { buildInstance, buildRefused } from "./build/build-instance.js";
import { rebuildInPlace } from "./build/rebuild-in-place.js";
import { confirmResize } from "./cold-move/confirm-resize.js";
import { type FinishResizeRequest, finishRefused, finishResize } from "./cold-move/finish-resize.js";
import { finishRevertResize } from "./cold-move/finish-revert-resize.js";
import type { MoveRequest } from "./cold-move/move-request.js";
import { type PrepResizeRequest, prepRefused, prepResize } from "./cold-move/prep-resize.js";
import { findStuckMoves, type StuckMoveOptions } from "./cold-move/recover.js";
import { resizeInstance, resizeRefused } from "./cold-move/resize-instance.js";
import { revertRefused, revertResize } from "./cold-move/revert-resize.js";
import type { BuildRequestOptions, Operations, RebuildOptions } from "./contract.js";
import { completePartialDeletion, deleteInstance } from "./delete/delete-instance.js";
import { evacuateInstance, evacuationRefused } from "./evacuate/evacuate-instance.js";
import { isLeaseLost, mustNotUndo } from "./flow/error-wrappers.js";
import type { LiveMigrationOperations } from "./live-migration/contract.js";
import { LiveMigrations } from "./live-migration/live-migrations.js";
import { IncomingMoves } from "./moves/incoming-moves.js";
import type { Move } from "./moves/move-allocations.js";
import type { OperationParts, StepFaults } from "./parts.js";
import { rebootInstance, startInstance, stopInstance } from "./power/power.js";
import { syncInstancePowerState } from "./power/power-sync.js";
import { rescueInstance } from "./states/rescue-instance.js";
import { shelveInstance } from "./states/shelve-instance.js";
import { shelveOffloadInstance } from "./states/shelve-offload.js";
import { changeState, STATE_CHANGES, type StateChangeName } from "./states/state-changes.js";
import { type UnshelveRequest, unshelveInstance, unshelveRefused } from "./states/unshelve-instance.js";

type WithUuid = Pick<Instance, "uuid">;

export function createOperations(context: AgentContext, tracker: ResourceTracker, faults?: StepFaults): Operations {
  return new InstanceOperations({ context, tracker, ...(faults ? { faults } : {}) });
}

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
    this.liveMigrations = new LiveMigrations(parts, this.#locks);
    this.#builds = new TaskQueue(parts.context.config.defaults.maxConcurrentBuilds);
  }

  get active(): number {
    return this.#active;
  }

  async buildAndRunInstance(request: BuildRequestOptions): Promise<void> {
    const giveBack = (parts: OperationParts, refusal: Refusal) => buildRefused(parts, request, refusal);
    // A build that waits for its turn holds no lock, so that the instance can be deleted meanwhile.
    await this.#tracked(() =>
      this.#builds.run(() =>
        this.#locks.run(request.instanceUuid, () =>
          this.#admitted("build_and_run_instance", request, (parts) => buildInstance(parts, request), { giveBack }),
        ),
      ),
    );
  }

  async terminateInstance({ uuid: instanceUuid }: WithUuid, requestId: string): Promise<void> {
    const request = { instanceUuid, requestId };
    await this.#tracked(async () => {
      // A copy that is under way holds no lock: it is stopped, or the delete follows the guest.
      await this.liveMigrations.settle(instanceUuid);
      await this.#locks.run(instanceUuid, () =>
        this.#admitted(
          "terminate_instance",
          request,
          (parts, { instance }) => deleteInstance(parts, instance, requestId),
          { handOn: ({ context }) => context.conductor.call("delete_instance", { instanceUuid }, { requestId }) },
        ),
      );
    });
  }

  async completePartialDeletion(instance: Instance): Promise<void> {
    const requestId = newRequestId(this.#parts.context);
    await this.#serial(instance.uuid, () => completePartialDeletion(this.#for(requestId), instance, requestId));
  }

  async rebuildInstance(request: RebuildOptions): Promise<void> {
    if (request.recreate) {
      await this.#move("evacuate_instance", request, evacuateInstance, evacuationRefused);
    } else {
      await this.#onGuest("rebuild_instance", { ...request }, (parts, instance) =>
        rebuildInPlace(parts, request, instance),
      );
    }
  }

  async startInstance({ uuid: instanceUuid }: WithUuid, requestId: string): Promise<void> {
    await this.#onGuest("start_instance", { instanceUuid, requestId }, (parts, instance) =>
      startInstance(parts, instance, requestId),
    );
  }

  async stopInstance({ uuid: instanceUuid }: WithUuid, requestId: string): Promise<void> {
    await this.#onGuest("stop_instance", { instanceUuid, requestId }, (parts, instance) =>
      stopInstance(parts, instance, requestId),
    );
  }

  async rebootInstance({ uuid: instanceUuid }: WithUuid, type: "SOFT" | "HARD", requestId: string): Promise<void> {
    await this.#onGuest("reboot_instance", { instanceUuid, type, requestId }, (parts, instance) =>
      rebootInstance(parts, instance, type, requestId),
    );
  }

  async prepResize(request: PrepResizeRequest): Promise<void> {
    await this.#move("prep_resize", request, prepResize, prepRefused);
  }

  async resizeInstance(request: MoveRequest): Promise<void> {
    await this.#move("resize_instance", request, resizeInstance, resizeRefused);
  }

  async finishResize(request: FinishResizeRequest): Promise<void> {
    await this.#move("finish_resize", request, finishResize, finishRefused);
  }

  async confirmResize(request: MoveRequest): Promise<void> {
    try {
      await this.#move("confirm_resize", request, confirmResize);
    } catch (error) {
      if (mustNotUndo(error)) {
        this.#unsettledSince = this.#parts.context.runtime.clock.now();
      }
      throw error;
    }
  }

  async revertResize(request: MoveRequest): Promise<void> {
    await this.#move("revert_resize", request, revertResize, revertRefused);
  }

  async finishRevertResize(request: MoveRequest): Promise<void> {
    await this.#move("finish_revert_resize", request, finishRevertResize, revertRefused);
  }

  async recoverColdMoves(options: StuckMoveOptions): Promise<void> {
    const { context } = this.#parts;
    const since = this.#unsettledSince;
    const confirmed = options.confirmed || since !== null;
    const found = await findStuckMoves(context, { ...options, confirmed });
    if (since !== null && since <= options.before) {
      this.#unsettledSince = null;
    }
    for (const move of found) {
      const { instanceUuid, migrationId } = move;
      const requestId = move.requestId ?? newRequestId(context);
      const fields = { instance: instanceUuid, migration: migrationId, request_id: requestId };
      context.runtime.logger.info("a move that was interrupted goes on", fields);
      try {
        await this.#serial(instanceUuid, () => move.resume(this.#for(requestId), requestId));
      } catch (err) {
        this.#unsettledSince = context.runtime.clock.now();
        if (isLeaseLost(err)) {
          throw err;
        }
        context.runtime.logger.error("a move that was interrupted could not be put right", { ...fields, err });
      }
    }
  }

  async changeState(change: StateChangeName, { uuid: instanceUuid }: WithUuid, requestId: string): Promise<void> {
    await this.#onGuest(STATE_CHANGES[change].operation, { instanceUuid, requestId }, (parts, instance) =>
      changeState(parts, change, instance, requestId),
    );
  }

  async rescueInstance(
    { uuid: instanceUuid }: WithUuid,
    rescueImageRef: string | undefined,
    requestId: string,
  ): Promise<void> {
    const image = rescueImageRef === undefined ? {} : { rescueImageRef };
    await this.#onGuest("rescue_instance", { instanceUuid, ...image, requestId }, (parts, instance) =>
      rescueInstance(parts, instance, rescueImageRef, requestId),
    );
  }

  async shelveInstance({ uuid: instanceUuid }: WithUuid, imageId: string, requestId: string): Promise<void> {
    await this.#onGuest("shelve_instance", { instanceUuid, imageId, requestId }, (parts, instance) =>
      shelveInstance(parts, instance, imageId, requestId),
    );
  }

  async shelveOffloadInstance({ uuid: instanceUuid }: WithUuid, requestId: string): Promise<void> {
    await this.#onGuest("shelve_offload_instance", { instanceUuid, requestId }, (parts, instance) =>
      shelveOffloadInstance(parts, instance, requestId),
    );
  }

  async unshelveInstance(request: UnshelveRequest): Promise<void> {
    await this.#serial(request.instanceUuid, () =>
      this.#admitted(
        "unshelve_instance",
        request,
        (parts, { instance }) => unshelveInstance(parts, request, instance),
        {
          giveBack: (parts, refusal) => unshelveRefused(parts, request, refusal),
        },
      ),
    );
  }

  async syncInstancePowerState({ uuid }: Instance): Promise<void> {
    await this.#serial(uuid, () => syncInstancePowerState(this.#parts, uuid));
  }

  /** On an instance of this host; when it has moved with the request, that follows it. */
  async #onGuest<M extends GatedMethod & AgentMethod>(
    method: M,
    request: ParamsOf<AgentMethods, M> & Message,
    flow: (parts: OperationParts, instance: Instance) => Promise<void>,
  ): Promise<void> {
    const handOn = ({ context }: OperationParts, host: string) => context.conductor.castAgent(host, method, request);
    await this.#serial(request.instanceUuid, () =>
      this.#admitted(method, request, (parts, { instance }) => flow(parts, instance), { handOn }),
    );
  }

  /** A step of a migration; `refused` gives back what was claimed for it. */
  async #move<R extends Message>(
    method: GatedMethod,
    request: R,
    flow: (parts: OperationParts, request: R, move: Move) => Promise<void>,
    refused?: (parts: OperationParts, request: R, move: Move, refusal: Refusal) => Promise<void>,
  ): Promise<void> {
    await this.#serial(request.instanceUuid, () =>
      this.#admitted(
        method,
        request,
        (parts, { instance, migration }) =>
          migration ? flow(parts, request, { instance, migration }) : Promise.resolve(),
        {
          giveBack: async (parts, refusal) => {
            const { instance, migration } = refusal.found ?? {};
            if (instance && migration) {
              await refused?.(parts, request, { instance, migration }, refusal);
            }
          },
        },
      ),
    );
  }

  /** The one place where a message about an instance begins; asked under the instance's lock. */
  async #admitted(
    method: GatedMethod,
    message: Message,
    flow: (parts: OperationParts, found: Found) => Promise<void>,
    leftovers: Leftovers,
  ): Promise<void> {
    const parts = this.#for(message.requestId);
    const verdict = await admit(parts.context, method, message);
    if ("refused" in verdict) {
      await refuseMessage(parts, method, message, verdict.refused, leftovers);
    } else {
      await flow(parts, verdict.admitted);
    }
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
