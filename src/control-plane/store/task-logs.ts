import { type AuditPeriod, TASK_LOG, type TaskLog, USAGE_AUDIT } from "../../records/index.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const LOGS = tableOf("task_log", TASK_LOG);
/** Counts the instances that were on a host before the first and after the second time. */
const ACTIVE = `SELECT count(*) FROM instances
  WHERE host = ? AND launched_at < ? AND (terminated_at IS NULL OR terminated_at > ?)`;
const OF_PERIOD = "task_name = ? AND period_beginning = ? AND period_ending = ?";

/** Table `task_log`: usage audits, one row for each host and period. */
export function createTaskLogTable({ sql }: StoreContext) {
  const table = new Table(sql, LOGS);

  return {
    /** Returns the logs of a period by host. */
    list: ({ begin, end }: AuditPeriod): TaskLog[] => table.many(`${OF_PERIOD} ORDER BY host`, USAGE_AUDIT, begin, end),
    /**
     * Starts the audit of a host, and returns the number of instances that were on it in the period. An unfinished audit
     * starts again. Null if it is already done.
     */
    begin: (host: string, { begin, end }: AuditPeriod): number | null =>
      sql.transaction(() => {
        const before = table.one(`${OF_PERIOD} AND host = ?`, USAGE_AUDIT, begin, end, host);
        if (before?.state === "DONE") {
          return null;
        }
        const taskItems = sql.number(ACTIVE, host, end, begin);
        put({
          taskName: USAGE_AUDIT,
          host,
          periodBeginning: begin,
          periodEnding: end,
          state: "RUNNING",
          message: "Instance usage audit started...",
          taskItems,
          errors: 0,
        });
        return taskItems;
      }),
    /** Finishes an audit; ignored if it was not started. */
    end: (host: string, { begin, end }: AuditPeriod, outcome: Pick<TaskLog, "message" | "errors">): void =>
      sql.transaction(() => {
        const log = table.one(`${OF_PERIOD} AND host = ?`, USAGE_AUDIT, begin, end, host);
        if (log?.state === "RUNNING") {
          put({ ...log, ...outcome, state: "DONE" });
        }
      }),
  };

  function put(log: TaskLog): void {
    sql.execute(
      `DELETE FROM task_log WHERE ${OF_PERIOD} AND host = ?`,
      log.taskName,
      log.periodBeginning,
      log.periodEnding,
      log.host,
    );
    table.insert(log);
  }
}
