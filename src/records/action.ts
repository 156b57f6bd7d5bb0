import { id, LONGEST, nullable, oneOf, type RecordOf, text, time, uuid } from "./field.js";

/** What the API records of an operation on an instance (spec 1.6). */
export const INSTANCE_ACTION = {
  id,
  action: text(),
  instanceUuid: uuid,
  requestId: text(),
  userId: nullable(text()),
  projectId: nullable(text()),
  startTime: time,
  finishTime: nullable(time),
  /** `Error` if one of its events failed. */
  message: nullable(text()),
  updatedAt: nullable(time),
};

export type InstanceAction = RecordOf<typeof INSTANCE_ACTION>;

export const INSTANCE_ACTION_EVENT = {
  id,
  actionId: id,
  /** `compute__do_build_and_run_instance` and so on. */
  event: text(),
  startTime: time,
  finishTime: nullable(time),
  result: nullable(oneOf(["Success", "Error"])),
  traceback: nullable(text(LONGEST)),
  details: nullable(text(LONGEST)),
  host: nullable(text()),
};

export type InstanceActionEvent = RecordOf<typeof INSTANCE_ACTION_EVENT>;
