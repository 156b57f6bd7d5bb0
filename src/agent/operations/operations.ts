import type { Instance } from "../../records/index.js";
import { KeyedLock } from "../../runtime/locks.js";
import { TaskQueue } from "../../runtime/task-queue.js";
import { type AgentContext, requestId as newRequestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import type { ResourceTracker } from "../tracker/resource-tracker.js";
import { type AdmissionRejection, admit } from "./flow/admission.js";
import type {
  AdmittedFlow,
  Call,
  Caller,
  InstanceMethod,
  Lock,
  Operation,
  OperationName,
  OperationServices,
  PowerUpdate,
  ReplyOf,
  RequestOf,
  StepFaults,
  StuckMoveOptions,
} from "./flow/contract.js";
import { isLeaseLost, mustNotUndo, watchConductor, withActionEvent } from "./flow/error-wrappers.js";
import { OutgoingMigrations } from "./flow/outgoing-migrations.js";
import { IncomingMoves, InterruptedRequests, LeftGuests, UnsettledMoves } from "./flow/unfinished-work.js";
import { recoverColdMoves } from "./recover-cold-moves.js";
import { findLeftGuests, recoverLiveMigrations } from "./recover-live-migrations.js";
import { completePartialDeletion } from "./states/delete-instance.js";
import { syncInstancePowerState, updatePower } from "./states/power-sync.js";
import { callOf, forRequest, OPERATIONS, operationOf } from "./table.js";
import { extendVolume, type VolumeExtension } from "./volumes/extend-volume.js";
import { recoverAttachments } from "./volumes/recover-attachments.js";

export function createOperations(context: AgentContext, tracker: ResourceTracker, faults?: StepFaults): Operations {
  return new InstanceOperations({
    tracker,
    incoming: new IncomingMoves(),
    outgoing: new OutgoingMigrations(context),
    unsettled: new UnsettledMoves(),
    interrupted: new InterruptedRequests(),
    left: new LeftGuests(),
    locks: new KeyedLock<string>(),
    groups: new KeyedLock<string>(),
    ...(faults ? { faults } : {}),
    ...context,
  });
}

/** {@link InstanceOperations} without its private parts, which a test cannot replace. */
export type Operations = Pick<InstanceOperations, keyof InstanceOperations>;

/**
 * Runs the flows of spec 6: one at a time per instance, and `max_concurrent_builds` builds at a time in total. An
 * operation begins only if the instance is on the right host and its task_state belongs to the request (table.ts);
 * otherwise nothing happens.
 */
class InstanceOperations {
  readonly #services: OperationServices;
  readonly #builds: TaskQueue;
  #active = 0;

  constructor(services: OperationServices) {
    this.#services = services;
    this.#builds = new TaskQueue(services.config.defaults.maxConcurrentBuilds);
  }

  /** The number of messages that are being processed or queued. */
  get active(): number {
    return this.#active;
  }

  get interrupted(): InterruptedRequests {
    return this.#services.interrupted;
  }

  /** A shutdown waits for them. */
  get incoming(): IncomingMoves {
    return this.#services.incoming;
  }

  get outgoing(): OutgoingMigrations {
    return this.#services.outgoing;
  }

  /** @throws any error of the flow */
  async run<M extends InstanceMethod>(method: M, request: RequestOf<M>, caller?: Caller): Promise<ReplyOf<M>> {
    this.#active += 1;
    try {
      const reply = await this.#carryOut<OperationName>(operationOf(method, request), request, caller);
      // The reply type of the requested operation: an evacuation replies as a rebuild does.
      return reply as ReplyOf<M>;
    } finally {
      this.#active -= 1;
    }
  }

  async #carryOut<M extends OperationName>(name: M, request: RequestOf<M>, caller?: Caller): Promise<unknown> {
    const { lock = "instance", stopsLiveMigration, flow }: Operation<M> = OPERATIONS[name];
    const { instanceUuid, requestId } = request;
    let left = false;
    const conductor = watchConductor(this.#services.conductor, () => {
      left = true;
    });
    const call = callOf(name, { ...this.#services, conductor }, request, caller);
    if (stopsLiveMigration) {
      await this.outgoing.settle(instanceUuid);
    }
    try {
      return await this.#locked(lock, instanceUuid, () => ("handle" in flow ? flow.handle(call) : begin(flow, call)));
    } catch (error) {
      // Records the request even if the host's lease is lost: it may be re-acquired. A call without a reply is recorded
      // by the watched conductor.
      left ||= mustNotUndo(error);
      throw error;
    } finally {
      if (left) {
        this.interrupted.add({ instanceUuid, requestId });
      }
    }
  }

  async #locked(lock: Lock, uuid: string, task: () => Promise<unknown>): Promise<unknown> {
    switch (lock) {
      case "none":
        return task();
      case "instance":
        return this.#services.locks.run(uuid, task);
      case "build":
        return this.#builds.run(() => this.#services.locks.run(uuid, task));
    }
  }

  /** Completes a delete that died between "vm deleted" and "row destroyed" (spec 2.6). */
  async completePartialDeletion(instance: Instance): Promise<void> {
    const requestId = newRequestId(this.#services);
    await this.#services.locks.run(instance.uuid, () =>
      completePartialDeletion(forRequest(this.#services, requestId), instance, requestId),
    );
  }

  /** Spec 4.10 `_sync_power_states` for one instance. */
  async syncInstancePowerState({ uuid }: Instance): Promise<void> {
    await this.#services.locks.run(uuid, () => syncInstancePowerState(this.#services, uuid));
  }

  /** Spec 6.6: updates an instance of this host after its guest's power was changed outside Nova. */
  async updatePower(update: PowerUpdate): Promise<void> {
    const { instanceUuid, requestId } = update;
    this.#active += 1;
    try {
      await this.#services.locks.run(instanceUuid, () => updatePower(forRequest(this.#services, requestId), update));
    } finally {
      this.#active -= 1;
    }
  }

  /** Spec 6.12 "extend": makes a guest see the new size of a volume. */
  async extendVolume(extension: VolumeExtension): Promise<void> {
    const { instanceUuid, requestId } = extension;
    this.#active += 1;
    try {
      await this.#services.locks.run(instanceUuid, () =>
        extendVolume(forRequest(this.#services, requestId), extension),
      );
    } finally {
      this.#active -= 1;
    }
  }

  /** Spec 2.6: finishes or undoes attachments and detachments that an earlier process has left. */
  async recoverVolumes({ uuid }: Instance): Promise<void> {
    const services = forRequest(this.#services, newRequestId(this.#services));
    await this.#services.locks.run(uuid, () => recoverAttachments(services, uuid));
  }

  /** True if a recovery of cold moves failed, so that the move is still abandoned: the next call tries again. */
  get recoversAgain(): boolean {
    return this.#services.unsettled.any;
  }

  /** Spec 2.6 OPT: continues or ends abandoned cold moves of this host. */
  recoverColdMoves(options: StuckMoveOptions): Promise<void> {
    return recoverColdMoves(this.#services, options);
  }

  /** Runs work on an instance while no operation runs on it. */
  exclusively(uuid: string, work: () => Promise<void>): Promise<void> {
    return this.#services.locks.run(uuid, work);
  }

  /** Spec 2.6 OPT: ends live migrations from here that were interrupted by a killed process or an unreachable conductor. */
  recoverLiveMigrations(): Promise<void> {
    return recoverLiveMigrations(this.#services);
  }

  /**
   * Spec 6.5 OPT: records leftovers of an earlier process; {@link removeLeftGuests} removes them.
   * @param others instances of guests on this hypervisor, without those that are known to be this host's
   */
  findLeftGuests(others: readonly Instance[]): Promise<void> {
    return findLeftGuests(this.#services, others);
  }

  /** Spec 6.1 OPT: removes guests that failed operations left here; a failed removal is repeated later. */
  async removeLeftGuests(): Promise<void> {
    const { left, locks, logger } = this.#services;
    for (const guest of left.all) {
      try {
        requireHostLease(this.#services, `remove the leftover guest of instance ${guest.instanceUuid}`);
        await locks.run(guest.instanceUuid, () => guest.remove());
        left.forget(guest);
      } catch (err) {
        if (isLeaseLost(err)) {
          throw err;
        }
        logger.error("could not remove the leftover guest of a failed operation; retrying later", {
          instance: guest.instanceUuid,
          err,
        });
      }
    }
  }
}

/** The entry point of every message that is subject to admission checks; runs under the instance's lock. */
async function begin<M extends OperationName>(flow: AdmittedFlow<M>, call: Call<M>): Promise<null> {
  const result = await admit(call.services, call, call.request);
  if ("rejected" in result) {
    await rejectMessage(flow, call, result.rejected);
  } else {
    await flow.run(call, result.admitted);
  }
  return null;
}

/** Logs the reason, ends the event of the user's action with it, and does not change the instance. */
async function rejectMessage<M extends OperationName>(
  flow: AdmittedFlow<M>,
  call: Call<M>,
  rejection: AdmissionRejection,
): Promise<void> {
  const { services, method, request, event } = call;
  const { kind, found, error } = rejection;
  const { logger } = services.runtime;
  const fields = { instance: request.instanceUuid, reason: kind };
  const host = found?.instance.host ?? null;
  if (kind === "moved" && host !== null && flow.handOn) {
    logger.info(`${method}: the instance has moved; forwarding the message to host ${host}`, fields);
    await flow.handOn(call, host);
    return;
  }
  logger[kind === "gone" ? "info" : "warn"](error.message, fields);
  if (kind !== "taken") {
    await flow.onRejected?.(call, rejection);
    return;
  }
  try {
    await withActionEvent(services, event, async () => {
      await flow.onRejected?.(call, rejection);
      throw error;
    });
  } catch (thrown) {
    if (thrown !== error) {
      throw thrown;
    }
  }
}
