import type { AgentParts } from "../parts.js";

/** Tells the scheduler which instances are here (`[filter_scheduler] track_instance_changes`); only advice, so never fatal. */
export async function syncSchedulerInfo(parts: AgentParts): Promise<void> {
  if (!parts.config.filterScheduler.trackInstanceChanges) {
    return;
  }
  try {
    const instances = await parts.conductor.call("instances_by_host", { host: parts.host });
    await parts.conductor.call("sync_instance_info", {
      host: parts.host,
      instanceUuids: instances.map(({ uuid }) => uuid),
    });
  } catch (error) {
    parts.logger.warn("the scheduler could not be told which instances are here", { err: error });
  }
}
