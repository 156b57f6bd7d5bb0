import { POWER_STATES } from "../../records/index.js";
import { SparseMap } from "../../runtime/collections.js";
import { CleanUpProgress, cleanUpEvacuated } from "../evacuation/clean-up.js";
import { type EvacuationPlan, planEvacuatedCleanup } from "../evacuation/plan.js";
import { requireHostLease } from "../host-lease.js";
import { disksOf } from "../operations/states/power.js";
import type { AgentServices } from "../services.js";
import { takeGuestBack } from "./init-instance.js";

/**
 * Evacuations from this host that had not ended when it started (spec 3.3 GAP-c OPT): their guests are retained,
 * stopped, until the record contains the outcome.
 */
export class PendingEvacuations {
  /** Instance uuid → whether its guest ran until the agent stopped it. */
  readonly #pending = new SparseMap<string, boolean>();
  /** Evacuations may have begun between start-up's read of the records and the host's first heartbeat. */
  #mayBeMore = false;

  get size(): number {
    return this.#pending.size;
  }

  /** The uuids of their instances. */
  get instances(): ReadonlySet<string> {
    return new Set(this.#pending.keys());
  }

  /** Takes over the pending evacuations of start-up; the first re-evaluation reads all records. */
  begin(plan: EvacuationPlan, stopped: ReadonlySet<string>): void {
    this.#mayBeMore = true;
    for (const uuid of stopped) {
      this.#pending.set(uuid, true);
    }
    this.#remember(plan);
  }

  #remember(plan: EvacuationPlan): void {
    for (const { action, migration } of plan.records) {
      if (action === "wait") {
        const uuid = migration.instanceUuid;
        this.#pending.set(uuid, this.#pending.get(uuid) === true);
      } else {
        this.#pending.delete(migration.instanceUuid);
      }
    }
  }

  /** Reads the records again, and cleans up after evacuations that have ended. */
  async reevaluate(services: AgentServices): Promise<void> {
    if (this.#pending.size === 0 && !this.#mayBeMore) {
      return;
    }
    const only = this.#mayBeMore ? undefined : new Set(this.#pending.keys());
    const plan = await planEvacuatedCleanup(services, services.tracker.nodes().values(), only);
    const progress = new CleanUpProgress();
    try {
      await cleanUpEvacuated(services, plan, progress);
    } finally {
      for (const uuid of progress.stopped) {
        this.#pending.set(uuid, true);
      }
    }
    this.#mayBeMore = false;
    for (const [uuid, wasRunning] of this.#pending) {
      if (!plan.evacuated.has(uuid)) {
        this.#pending.delete(uuid);
        await this.#evacuationFailed(services, uuid, wasRunning);
      }
    }
    this.#remember(plan);
  }

  /** Starts the guest that the agent stopped, since the instance stays here; unless the instance is in error. */
  async #evacuationFailed(services: AgentServices, uuid: string, wasRunning: boolean): Promise<void> {
    await takeGuestBack(services, uuid);
    const instance = await services.conductor.call("instance_get", { uuid });
    if (
      !wasRunning ||
      instance?.host !== services.host ||
      instance.vmState !== "active" ||
      instance.taskState !== null ||
      !(await services.driver.instanceExists(instance))
    ) {
      return;
    }
    requireHostLease(services, `start the guest of instance ${uuid}`);
    services.logger.info("the evacuation failed and the instance stays: its guest is started again", {
      instance: uuid,
    });
    await services.driver.powerOn(instance, ...(await disksOf(services, instance)));
    const changes = { powerState: POWER_STATES.running };
    await services.conductor.call("instance_save", { uuid, changes, expectedHost: services.host });
  }
}
