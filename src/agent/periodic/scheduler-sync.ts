import type { AgentServices } from "../services.js";

/** Milliseconds: a start that failed tells the scheduler too, and should not be held up by it. */
const TIMEOUT = 10_000;

/** Tells the scheduler which instances are here (`[filter_scheduler] track_instance_changes`); only advice, so never fatal. */
export async function syncSchedulerInfo(services: AgentServices): Promise<void> {
  if (!services.config.filterScheduler.trackInstanceChanges) {
    return;
  }
  try {
    const { host, conductor } = services;
    const instances = await conductor.call("instances_by_host", { host }, { timeout: TIMEOUT });
    const instanceUuids = instances.map(({ uuid }) => uuid);
    await conductor.call("sync_instance_info", { host, instanceUuids }, { timeout: TIMEOUT });
  } catch (error) {
    services.logger.warn("the scheduler could not be told which instances are here", { err: error });
  }
}
