import { type AuditPeriod, TASK_LOG, type TaskLog, USAGE_AUDIT } from "../../records/index.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const LOGS = tableOf("task_log", TASK_LOG);
const OF_PERIOD = "task_name = ? AND period_beginning = ? AND period_ending = ?";

/** Table `task_log`: usage audits, one row for each host and period. */
export class TaskLogs {
  readonly #context: StoreContext;
  readonly #table: Table<TaskLog>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, LOGS);
  }

  /** Returns the logs of a period by host. */
  list({ begin, end }: AuditPeriod): TaskLog[] {
    return this.#table.many(`${OF_PERIOD} ORDER BY host`, USAGE_AUDIT, begin, end);
  }

  /**
   * Starts the audit of a host, and returns the number of instances that were on it in the period. An unfinished audit
   * starts again. Null if it is already done.
   */
  begin(host: string, { begin, end }: AuditPeriod): number | null {
    return this.#context.sql.transaction(() => {
      const before = this.#table.one(`${OF_PERIOD} AND host = ?`, USAGE_AUDIT, begin, end, host);
      if (before?.state === "DONE") {
        return null;
      }
      const taskItems = this.#active(host, begin, end);
      this.#put({
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
    });
  }

  /** Finishes an audit; ignored if it was not started. */
  end(host: string, { begin, end }: AuditPeriod, outcome: Pick<TaskLog, "message" | "errors">): void {
    this.#context.sql.transaction(() => {
      const log = this.#table.one(`${OF_PERIOD} AND host = ?`, USAGE_AUDIT, begin, end, host);
      if (log?.state === "RUNNING") {
        this.#put({ ...log, ...outcome, state: "DONE" });
      }
    });
  }

  #put(log: TaskLog): void {
    this.#context.sql.execute(
      `DELETE FROM task_log WHERE ${OF_PERIOD} AND host = ?`,
      log.taskName,
      log.periodBeginning,
      log.periodEnding,
      log.host,
    );
    this.#table.insert(log);
  }

  #active(host: string, begin: number, end: number): number {
    const [count] =
      this.#context.sql.get(
        `SELECT count(*) FROM instances
         WHERE host = ? AND launched_at < ? AND (terminated_at IS NULL OR terminated_at > ?)`,
        host,
        end,
        begin,
      ) ?? [];
    return Number(count);
  }
}
