import { amount, name, oneOf, type RecordOf, text, time } from "./field.js";

/** What a host notes of an audit of a period: a row of `task_log`. */
export const TASK_LOG = {
  taskName: name,
  host: name,
  periodBeginning: time,
  periodEnding: time,
  state: oneOf(["RUNNING", "DONE"]),
  message: text(),
  /** Instances that it looked at. */
  taskItems: amount,
  errors: amount,
};

export type TaskLog = RecordOf<typeof TASK_LOG>;

/** The task_name of usage audits. */
export const USAGE_AUDIT = "instance_usage_audit";
