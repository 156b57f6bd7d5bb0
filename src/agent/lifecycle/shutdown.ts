import { FINAL_MIGRATION_STATUSES } from "../../records/index.js";
import type { CancelTimer, Timers } from "../../runtime/time.js";
import type { PeriodicLoop } from "../periodic/loop.js";
import type { AgentServices } from "../services.js";
import { drainingHandlers, type TaskTracker } from "./agent-handlers.js";
import type { Heartbeat } from "./heartbeat.js";

/** Seconds of `manager_shutdown_timeout` that are reserved for the steps after the wait. */
const RESERVE = 20;

/** Interval for polling the driver calls that a shutdown waits for, in milliseconds. */
const LOOK_INTERVAL = 1_000;

export interface RunningAgent {
  readonly services: AgentServices;
  readonly tasks: TaskTracker;
  /** Null if `periodic_enable` is off. */
  readonly periodics: Pick<PeriodicLoop<unknown>, "stop"> | null;
  readonly heartbeat: Heartbeat;
}

/**
 * Spec 2.8: accepts nothing new, waits for running operations for `manager_shutdown_timeout` less a reserve at most,
 * then disconnects from the hypervisor. The next start handles unfinished operations. Guests keep running.
 */
export async function drain({ services, tasks, periodics, heartbeat }: RunningAgent): Promise<void> {
  const { timers } = services.runtime;
  const { managerShutdownTimeout, gracefulShutdownTimeout } = services.config.defaults;
  const timeout = Math.min(managerShutdownTimeout, gracefulShutdownTimeout) * 1000;
  const reserve = Math.min(RESERVE * 1000, timeout / 4);
  await endsWithin(timers, reserve, logged(services, "stop accepting requests", stopTaking(services, tasks)));
  const cancelled = services.operations.outgoing.cancelQueued();
  await endsWithin(timers, reserve, logged(services, "cancel queued live migrations", cancelled));
  const { incoming } = services.operations;
  void logged(services, "check the incoming moves", forgetEnded(services));
  const endLooking = logShutdownBlockers(services, timeout - reserve);
  const idle = Promise.all([periodics?.stop(), allEnded(services, tasks, reserve)]);
  const isIdle = await endsWithin(timers, timeout - reserve, idle).finally(endLooking);
  if (!isIdle) {
    const left = tasks.size + incoming.size;
    for (const call of services.driver.waitedFor.values()) {
      services.logger.warn(`shutdown timeout: no longer waiting for ${call}`);
    }
    services.logger.warn(`${left} operations did not end in time; the next start handles them`);
  }
  heartbeat.stop();
  await endsWithin(timers, reserve, logged(services, "disconnect from the hypervisor", services.driver.cleanupHost()));
}

/**
 * Logs once for each driver call that the shutdown waits for it. Polls, since a running operation may reach the driver
 * later.
 * @param limit milliseconds
 * @returns a function that stops the polling
 */
function logShutdownBlockers({ driver, logger, runtime }: AgentServices, limit: number): CancelTimer {
  const reported = new Set<object>();
  let cancel: CancelTimer = () => {};
  const look = (): void => {
    for (const [call, words] of driver.waitedFor) {
      if (!reported.has(call)) {
        reported.add(call);
        logger.warn(
          `shutdown is waiting for ${words}; it continues in ${limit / 1000} s at the latest, and a second SIGTERM exits immediately`,
        );
      }
    }
    cancel = runtime.timers.after(LOOK_INTERVAL, look);
  };
  look();
  return () => cancel();
}

/** Stops accepting requests, except for those with which the other host of a move finishes it. */
async function stopTaking(services: AgentServices, tasks: TaskTracker): Promise<void> {
  const { incoming, outgoing } = services.operations;
  const hasMoves = incoming.size > 0 || outgoing.size > 0;
  await services.conductor.drain(hasMoves ? drainingHandlers(services, tasks) : null);
}

/**
 * Waits for running requests and incoming moves: each may lead to the other. Requests that arrive meanwhile count, so
 * the hypervisor is disconnected only when no more can arrive.
 */
async function allEnded(services: AgentServices, tasks: TaskTracker, reserve: number): Promise<void> {
  const { operations, conductor, runtime } = services;
  while (tasks.size > 0 || operations.incoming.size > 0) {
    await tasks.idle();
    await operations.incoming.idle();
  }
  await endsWithin(runtime.timers, reserve, logged(services, "stop accepting requests", conductor.stopServing()));
  await tasks.idle();
}

/** The conductor notifies the agent when a move ends. If the message was lost, the migration's status is final. */
async function forgetEnded({ conductor, operations: { incoming } }: AgentServices): Promise<void> {
  for (const id of incoming.migrations) {
    const migration = await conductor.call("migration_get", { id });
    const goesOn = migration?.deleted === 0 && !FINAL_MIGRATION_STATUSES.includes(migration.status);
    if (!goesOn) {
      incoming.end(id);
    }
  }
}

async function logged(services: AgentServices, purpose: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    services.logger.warn(`could not ${purpose}`, { err: error });
  }
}

/** Returns false if `milliseconds` elapsed first. */
async function endsWithin(timers: Timers, milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(milliseconds, () => resolve(false));
    work.then(
      () => {
        cancel();
        resolve(true);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}
