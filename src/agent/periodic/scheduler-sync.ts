import type { Instance } from "../../records/index.js";
import type { AgentServices } from "../services.js";

/** Milliseconds: a start that failed tells the scheduler too, and should not be held up by it. */
const TIMEOUT = 10_000;

/** Tells the scheduler which instances are here (`[filter_scheduler] track_instance_changes`); only advice, so never fatal. */
export async function syncSchedulerInfo(services: AgentServices): Promise<void> {
  const { host, conductor } = services;
  await advise(services, () => conductor.call("instances_by_host", { host }, { timeout: TIMEOUT }));
}

/** As {@link syncSchedulerInfo}, of instances that are known. */
export async function notifyScheduler(services: AgentServices, instances: readonly Instance[]): Promise<void> {
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
    logger.warn("the scheduler could not be told which instances are here", { err: error });
  }
}
