import { isPlacementError } from "../../placement-client/errors.js";
import type { Instance, Migration, Service } from "../../records/index.js";
import { retry } from "../../runtime/retry.js";
import type { AgentState, AgentView } from "../context.js";
import { CleanUpProgress, cleanUpEvacuated } from "../evacuation/clean-up.js";
import { countForeignGuests } from "../evacuation/hypervisor-guests.js";
import { planEvacuatedCleanup } from "../evacuation/plan.js";
import { acquireHostLease, requireHostLease } from "../host-lease.js";
import { UNENDED } from "../operations/build/evacuate-failure.js";
import { coldMovesToList } from "../operations/recover-cold-moves.js";
import type { AgentServices } from "../services.js";
import { guardHypervisorType, guardRecordedDriver } from "./driver-binding.js";
import { initInstance } from "./init-instance.js";
import { failInterruptedBuilds, findInterruptedBuilds } from "./interrupted-builds.js";
import { failInterruptedEvacuation, findInterruptedEvacuations } from "./interrupted-evacuations.js";
import { registerLifecycleListener } from "./lifecycle-events.js";
import {
  checkHostRename,
  checkNewHost,
  driverNodes,
  guardOwnership,
  lookUpNodes,
  type NodesByUuid,
  nodesByName,
  validateConfig,
} from "./ownership-checks.js";
import type { PendingEvacuations } from "./pending-evacuations.js";
import { checkServiceIdentity } from "./register-service.js";

/** In milliseconds: a failed start notifies the scheduler as well, and must not be delayed by it. */
const TIMEOUT = 10_000;

/** The delay between two attempts, in milliseconds. */
const PAUSE = 2_000;

/** The interval between two log records, in milliseconds. */
const REPORT_INTERVAL_MS = 10_000;

export interface InitHostOptions {
  /** The host's service; null if the host is not registered. */
  readonly service: Service | null;
  readonly pending: PendingEvacuations;
  readonly enter: (state: AgentState) => void;
  /** Aborted when the agent stops: ends the waits of start-up. */
  readonly signal: AbortSignal;
}

/** Spec 2.2. Nothing is written, created or changed before the ownership guard has passed (spec V6, V29). */
export async function initHost(services: AgentServices, options: InitHostOptions): Promise<void> {
  options.enter("guarding");
  validateConfig(services); // row 1
  await acquireHostLease(services); // 2.4 G6
  await guardRecordedDriver(services); // 2.4 g
  await connectDriver(services); // row 2
  const ownership = await proveOwnership(services, options.service); // rows 3-5
  await services.identity.allowWrites();
  // An agent that was suspended until another one took the host over must not overwrite the other's driver record.
  requireHostLease({ host: services.host, conductor: services.conductor }, "record the driver of this host");
  await services.driverRecord.write();
  const [loaded, moves] = await Promise.all([
    services.conductor.call("instances_by_host", { host: services.host }), // row 6
    listMoves(services),
  ]);
  try {
    registerLifecycleListener(services); // row 7
    const handled = await settleGuests(services, options, ownership, { loaded, moves }); // rows 8-10
    const before = services.runtime.clock.now();
    await services.operations.recoverColdMoves({ before, confirmed: true, listed: moves });
    await failInterruptedBuilds(services, await findInterruptedBuilds(services, ownership.nodes.values(), handled)); // row 11
  } finally {
    if (loaded.length > 0) {
      await notifyScheduler(services, loaded); // row 12
    }
  }
}

/** An error of the hypervisor itself does not show which host owns it. */
async function connectDriver({ driver, logger }: AgentServices): Promise<void> {
  try {
    await driver.initHost();
  } catch (error) {
    logger.error(`initHost of driver ${driver.name} failed`, { err: error });
    throw error;
  }
}

export interface Ownership {
  readonly nodes: NodesByUuid;
  /** False if the hypervisor was not ready, so that nothing could be compared: nothing on it is then destroyed. */
  readonly proved: boolean;
}

/**
 * Spec 2.2 steps 3-5 with the guard of 2.4, read-only. The new-host check follows the guard, because the guard can name
 * the host that owns this hypervisor (G4).
 */
export async function proveOwnership(view: AgentView, service: Service | null): Promise<Ownership> {
  if (service) {
    await checkServiceIdentity(view, service);
  }
  const reported = await driverNodes(view);
  const names = reported ?? new Map<string, string>();
  const named = await nodesByName(view, names);
  const nodes = await lookUpNodes(view, names, named, service === null);
  await checkHostRename(view, nodes);
  guardOwnership(view, names, named);
  await guardHypervisorType(view, names);
  if (!service) {
    await checkNewHost(view);
  }
  return { nodes, proved: reported !== null };
}

/** A failure does not prevent the host from serving. */
async function findLeftGuests({ operations, logger }: AgentServices, others: readonly Instance[]): Promise<void> {
  try {
    await operations.findLeftGuests(others);
  } catch (err) {
    logger.error("could not check this host for leftovers of moves", { err });
  }
}

/** The host's records, as read after the guard had passed. */
interface Found {
  readonly loaded: readonly Instance[];
  readonly moves: readonly Migration[];
}

/** Rows 8-10. @returns the instances that were handled */
async function settleGuests(
  services: AgentServices,
  options: InitHostOptions,
  ownership: Ownership,
  { loaded, moves }: Found,
): Promise<ReadonlySet<string>> {
  const { enter } = options;
  enter("cleaning");
  const evacuated = services.driver.capabilities.supportsEvacuate
    ? await cleanUpAfterEvacuations(services, ownership, options, moves)
    : new Set<string>();
  enter("initializing");
  const own = loaded.filter(({ uuid }) => !evacuated.has(uuid));
  for (const instance of await services.driver.processInstancesAtStartup(own)) {
    await initInstance(services, instance);
  }
  await findLeftGuests(services, await countForeignGuests(services, evacuated, loaded));
  return new Set([...loaded.map(({ uuid }) => uuid), ...evacuated]);
}

async function cleanUpAfterEvacuations(
  services: AgentServices,
  { nodes, proved }: Ownership,
  { pending, signal }: InitHostOptions,
  moves: readonly Migration[],
): Promise<ReadonlySet<string>> {
  if (!proved) {
    const { evacuated } = await planEvacuatedCleanup(services, nodes.values());
    services.logger.error("skipping evacuation cleanup: hypervisor ownership unverified");
    return new Set(evacuated.keys());
  }
  const progress = new CleanUpProgress();
  // Planned again after each wait, during which the evacuations may have continued.
  const plan = await awaitPlacement(services, "clean up after evacuations", signal, async () => {
    const planned = await planEvacuatedCleanup(services, nodes.values());
    await cleanUpEvacuated(services, planned, progress);
    return planned;
  });
  pending.begin(plan, progress.stopped);
  await awaitPlacement(services, "undo evacuations to this host", signal, async () => {
    for (const evacuation of await findInterruptedEvacuations(services, nodes.values(), moves)) {
      await failInterruptedEvacuation(services, evacuation);
    }
  });
  return new Set(plan.evacuated.keys());
}

/**
 * Runs work that needs Placement, and repeats it while Placement is unreachable: its absence is waited out, as the
 * conductor's is (spec 3.1 OPT). `work` must detect by itself which parts are done. Any response ends the wait.
 * @param purpose for the log: `start-up waits for Placement, to <purpose>`
 * @param signal ends the wait; rejects with its reason
 * @throws any error of `work` except ConnectFailure
 * @internal
 */
export async function awaitPlacement<T>(
  { logger, runtime: { timers } }: Pick<AgentView, "logger" | "runtime">,
  purpose: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  let reason: string | null = null;
  let cancel = () => {};
  const report = () => {
    logger.warn(`start-up waits for Placement, to ${purpose}: ${reason}`);
    cancel = timers.after(REPORT_INTERVAL_MS, report);
  };
  try {
    return await retry(timers, work, {
      attempts: Number.POSITIVE_INFINITY,
      delay: () => PAUSE,
      retryOn: (error) => isPlacementError(error, "ConnectFailure"),
      onRetry: ({ message }) => {
        const first = reason === null;
        reason = message;
        if (first) {
          report();
        }
      },
      signal,
    });
  } finally {
    cancel();
  }
}

/**
 * Lists the evacuations and cold moves of this host that may have been interrupted, in one call. Their recoveries read
 * each record again first.
 */
function listMoves({ conductor, host }: AgentView): Promise<readonly Migration[]> {
  const { migrationTypes, statuses } = coldMovesToList(true);
  return conductor.call("migrations_by_filters", {
    filters: {
      host,
      migrationTypes: ["evacuation", ...migrationTypes],
      statuses: [...new Set([...UNENDED, ...statuses])],
    },
  });
}

/**
 * Notifies the scheduler of this host's instances (`[filter_scheduler] track_instance_changes`); only a hint, so errors
 * are logged.
 */
export async function syncSchedulerInfo(services: AgentServices): Promise<void> {
  const { host, conductor } = services;
  await advise(services, () => conductor.call("instances_by_host", { host }, { timeout: TIMEOUT }));
}

/** Like {@link syncSchedulerInfo}, for instances that were already read. */
async function notifyScheduler(services: AgentServices, instances: readonly Instance[]): Promise<void> {
  await advise(services, async () => instances);
}

async function advise(services: AgentServices, list: () => Promise<readonly Instance[]>): Promise<void> {
  const { host, conductor, config, logger } = services;
  if (!config.filterScheduler.trackInstanceChanges) {
    return;
  }
  try {
    const instanceUuids = (await list()).map(({ uuid }) => uuid);
    await conductor.call("sync_instance_info", { host, instanceUuids }, { timeout: TIMEOUT });
  } catch (error) {
    logger.warn("could not notify the scheduler of this host's instances", { err: error });
  }
}
