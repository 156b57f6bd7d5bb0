import { lastCompletedPeriod } from "../../records/index.js";
import { countForeignGuests } from "../evacuation/hypervisor-guests.js";
import type { AgentServices } from "../services.js";
import { syncSchedulerInfo } from "../startup/init-host.js";
import type { PendingEvacuations } from "../startup/pending-evacuations.js";
import { cleanUpRunningDeleted, reclaimQueuedDeletes, runPendingDeletes } from "./instance-deletes.js";
import { pollShelvedInstances, syncPowerStates } from "./instance-states.js";
import { checkInstanceBuildTime, pollUnconfirmedResizes } from "./instance-timeouts.js";
import { cleanUpIncompleteMigrations, settleInterruptedRequests } from "./interrupted-operations.js";
import { DEFAULT_SPACING, type PeriodicTask } from "./loop.js";
import { reconcileAllocations } from "./reconcile-allocations.js";

/** The end of the last audited period; null: none. */
interface AuditedPeriod {
  end: number | null;
}

const formatTime = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");

/** Milliseconds without a write after which a move counts as abandoned: no step waits longer for another host. */
const MOVE_TIMEOUT_MS = 10 * 60_000;

/** The subject of one agent's tasks. */
export interface PeriodicSubject {
  readonly services: AgentServices;
  readonly pending: PendingEvacuations;
  readonly audited: AuditedPeriod;
}

type Defaults = AgentServices["config"]["defaults"];

const everyMinuteIf = (enabled: boolean): number => (enabled ? DEFAULT_SPACING : -1);

function task(
  name: string,
  spacing: (options: Defaults, config: AgentServices["config"]) => number,
  run: (services: AgentServices, subject: PeriodicSubject) => Promise<void>,
  more: Pick<PeriodicTask<PeriodicSubject>, "immediate" | "soon"> = {},
): PeriodicTask<PeriodicSubject> {
  return {
    name,
    spacing: ({ services: { config } }) => spacing(config.defaults, config),
    run: (subject) => run(subject.services, subject),
    ...more,
  };
}

const AT_ONCE = { immediate: () => true };

/** The periodic tasks of an agent (spec 4.10), in the order in which those that are due at the same time run. */
export const PERIODIC_TASKS: readonly PeriodicTask<PeriodicSubject>[] = [
  task(
    "update_available_resource",
    ({ updateResourcesInterval }) => updateResourcesInterval,
    ({ tracker }) => tracker.updateAvailableResource({ startup: false }),
  ),
  task(
    "_cleanup_running_deleted_instances",
    ({ runningDeletedInstancePollInterval }) => runningDeletedInstancePollInterval,
    cleanUpRunningDeleted,
    AT_ONCE,
  ),
  task(
    "_sync_power_states",
    ({ syncPowerStateInterval }) => syncPowerStateInterval,
    async (services, { pending }) => {
      await syncPowerStates(services, pending.instances);
      await countForeignGuests(services, pending.instances);
    },
    AT_ONCE,
  ),
  task(
    "_poll_unconfirmed_resizes",
    ({ resizeConfirmWindow }) => everyMinuteIf(resizeConfirmWindow > 0),
    pollUnconfirmedResizes,
  ),
  task(
    "_poll_shelved_instances",
    ({ shelvedOffloadTime, shelvedPollInterval }) => (shelvedOffloadTime > 0 ? shelvedPollInterval : -1),
    pollShelvedInstances,
  ),
  // Not in Nova: spec 2.6 OPT.
  task(
    "unfinished_cold_moves",
    () => DEFAULT_SPACING,
    ({ operations, runtime }) =>
      operations.recoverColdMoves({ before: runtime.clock.now() - MOVE_TIMEOUT_MS, confirmed: false }),
    {
      immediate: ({ services }) => services.operations.recoversAgain,
      soon: ({ services }) => services.operations.recoversAgain,
    },
  ),
  // Not in Nova: spec 2.6 OPT.
  task("interrupted_requests", () => DEFAULT_SPACING, settleInterruptedRequests),
  // Not in Nova: spec 6.1 OPT.
  task(
    "left_guests",
    () => DEFAULT_SPACING,
    ({ operations }) => operations.removeLeftGuests(),
  ),
  task(
    "_reclaim_queued_deletes",
    ({ reclaimInstanceInterval }) => everyMinuteIf(reclaimInstanceInterval > 0),
    reclaimQueuedDeletes,
  ),
  task("_run_pending_deletes", ({ instanceDeleteInterval }) => instanceDeleteInterval, runPendingDeletes),
  task(
    "_cleanup_incomplete_migrations",
    ({ instanceDeleteInterval }) => instanceDeleteInterval,
    cleanUpIncompleteMigrations,
  ),
  task(
    "_check_instance_build_time",
    ({ instanceBuildTimeout }) => everyMinuteIf(instanceBuildTimeout > 0),
    checkInstanceBuildTime,
  ),
  task(
    "_instance_usage_audit",
    ({ instanceUsageAudit }) => everyMinuteIf(instanceUsageAudit),
    (services, { audited }) => usageAudit(services, audited),
  ),
  task(
    "_sync_scheduler_instance_info",
    ({ schedulerInstanceSyncInterval }) => schedulerInstanceSyncInterval,
    syncSchedulerInfo,
  ),
  // Not in Nova: spec 2.6 OPT.
  task(
    "unfinished_live_migrations",
    () => DEFAULT_SPACING,
    ({ operations }) => operations.recoverLiveMigrations(),
    { ...AT_ONCE, soon: ({ services }) => services.operations.outgoing.recoversSoon },
  ),
  // Not in Nova: spec 9.3.
  task(
    "reconcile_allocations",
    (_options, { compute }) => (compute.reconcileAllocations === "off" ? -1 : compute.reconcileInterval),
    reconcileAllocations,
  ),
  // Not in Nova: spec 3.3 GAP-c.
  task(
    "pending_evacuations",
    () => DEFAULT_SPACING,
    (services, { pending }) => pending.reevaluate(services),
  ),
];

/**
 * Records once per completed period how many instances this host had in it (`[DEFAULT] instance_usage_audit`). Nova
 * also sends a notification for each instance; nothing here would consume it.
 */
async function usageAudit(
  { conductor, config, host, logger, runtime: { clock } }: AgentServices,
  audited: AuditedPeriod,
): Promise<void> {
  const period = lastCompletedPeriod(config.defaults.instanceUsageAuditPeriod, clock.now());
  if (period.end === audited.end) {
    return;
  }
  const began = clock.now();
  const instances = await conductor.call("usage_audit_begin", { host, ...period });
  if (instances !== null) {
    const [from, to] = [formatTime(period.begin), formatTime(period.end)];
    logger.info(`Running instance usage audit for host ${host} from ${from} to ${to}. ${instances} instances.`);
    const seconds = (clock.now() - began) / 1000;
    const message = `Instance usage audit ran for host ${host}, ${instances} instances in ${seconds} seconds.`;
    await conductor.call("usage_audit_end", { host, ...period, errors: 0, message });
  }
  audited.end = period.end;
}
