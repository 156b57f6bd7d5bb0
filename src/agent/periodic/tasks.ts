import { countForeignGuests } from "../evacuation/foreign-guests.js";
import type { PendingEvacuations } from "../evacuation/pending-evacuations.js";
import type { AgentServices } from "../services.js";
import { checkInstanceBuildTime } from "./build-timeout.js";
import { cleanUpIncompleteMigrations } from "./incomplete-migrations.js";
import { settleInterruptedRequests } from "./interrupted-requests.js";
import { DEFAULT_SPACING, type PeriodicTask } from "./loop.js";
import { runPendingDeletes } from "./pending-deletes.js";
import { reclaimQueuedDeletes } from "./reclaim-queued-deletes.js";
import { reconcileAllocations } from "./reconcile-allocations.js";
import { cleanUpRunningDeleted } from "./running-deleted.js";
import { syncSchedulerInfo } from "./scheduler-sync.js";
import { pollShelvedInstances } from "./shelved-instances.js";
import { syncPowerStates } from "./sync-power-states.js";
import { pollUnconfirmedResizes } from "./unconfirmed-resizes.js";
import { usageAudit } from "./usage-audit.js";

/** Milliseconds without any news of a move after which it is taken for dead: no step waits longer for another host. */
const MOVE_PATIENCE = 10 * 60_000;

/** The periodic tasks of an agent (spec 4.10), in the order in which those that are due at a time run. */
export function periodicTasks(services: AgentServices, pending: PendingEvacuations): readonly PeriodicTask[] {
  const options = services.config.defaults;
  const { reconcileAllocations: mode, reconcileInterval } = services.config.compute;
  const task = (name: string, spacing: number, run: () => Promise<void>, immediate = false): PeriodicTask => ({
    name,
    spacing,
    immediate,
    run,
  });
  const everyMinuteIf = (enabled: boolean): number => (enabled ? DEFAULT_SPACING : -1);
  return [
    // update_resources_interval
    task("update_available_resource", options.updateResourcesInterval, () =>
      services.tracker.updateAvailableResource({ startup: false }),
    ),
    // running_deleted_instance_poll_interval
    task(
      "_cleanup_running_deleted_instances",
      options.runningDeletedInstancePollInterval,
      () => cleanUpRunningDeleted(services),
      true,
    ),
    // sync_power_state_interval
    task(
      "_sync_power_states",
      options.syncPowerStateInterval,
      async () => {
        await syncPowerStates(services, pending.instances);
        await countForeignGuests(services, pending.instances);
      },
      true,
    ),
    // resize_confirm_window
    task("_poll_unconfirmed_resizes", everyMinuteIf(options.resizeConfirmWindow > 0), () =>
      pollUnconfirmedResizes(services),
    ),
    // shelved_poll_interval
    task("_poll_shelved_instances", options.shelvedOffloadTime > 0 ? options.shelvedPollInterval : -1, () =>
      pollShelvedInstances(services),
    ),
    // Not Nova's: spec 2.6 OPT.
    {
      ...task("unfinished_cold_moves", DEFAULT_SPACING, () =>
        services.operations.recoverColdMoves({
          before: services.runtime.clock.now() - MOVE_PATIENCE,
          confirmed: false,
        }),
      ),
      immediate: services.operations.recoversAgain,
      soon: () => services.operations.recoversAgain,
    },
    // Not Nova's: spec 2.6 OPT.
    task("interrupted_requests", DEFAULT_SPACING, () => settleInterruptedRequests(services)),
    // Not Nova's: spec 6.1 OPT.
    task("left_guests", DEFAULT_SPACING, () => services.operations.removeLeftGuests()),
    // reclaim_instance_interval
    task("_reclaim_queued_deletes", everyMinuteIf(options.reclaimInstanceInterval > 0), () =>
      reclaimQueuedDeletes(services),
    ),
    // instance_delete_interval
    task("_run_pending_deletes", options.instanceDeleteInterval, () => runPendingDeletes(services)),
    // instance_delete_interval
    task("_cleanup_incomplete_migrations", options.instanceDeleteInterval, () => cleanUpIncompleteMigrations(services)),
    // instance_build_timeout
    task("_check_instance_build_time", everyMinuteIf(options.instanceBuildTimeout > 0), () =>
      checkInstanceBuildTime(services),
    ),
    // instance_usage_audit
    task("_instance_usage_audit", everyMinuteIf(options.instanceUsageAudit), usageAudit(services)),
    // scheduler_instance_sync_interval
    task("_sync_scheduler_instance_info", options.schedulerInstanceSyncInterval, () => syncSchedulerInfo(services)),
    // Not Nova's: spec 2.6 OPT.
    {
      ...task("unfinished_live_migrations", DEFAULT_SPACING, () => services.operations.recoverLiveMigrations(), true),
      soon: () => services.operations.outgoing.recoversSoon,
    },
    // Not Nova's: spec 9.3; [compute] reconcile_allocations, reconcile_interval
    task("reconcile_allocations", mode === "off" ? -1 : reconcileInterval, () => reconcileAllocations(services)),
    // Not Nova's: spec 3.3 GAP-c.
    task("pending_evacuations", DEFAULT_SPACING, () => pending.reevaluate(services)),
  ];
}
