import { lastCompletedPeriod } from "../../records/index.js";
import type { AgentServices } from "../services.js";

/** The end of the period that was audited last; null: none was. */
export interface AuditedPeriod {
  end: number | null;
}

/**
 * Notes, once for each period that is over, how many instances this host had in it (`[DEFAULT] instance_usage_audit`). Nova tells
 * of each by a notification, too; there is nobody here who would listen.
 */
export async function usageAudit(
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

const formatTime = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");
