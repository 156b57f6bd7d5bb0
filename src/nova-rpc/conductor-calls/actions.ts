import { ConductorError } from "../../conductor-client/errors.js";
import type { InstanceAction } from "../../records/index.js";
import { listedObjects } from "../objects/primitive.js";
import {
  nullable,
  number,
  type RecordObject,
  readOnly,
  readRecord,
  text,
  timestamp,
} from "../objects/record-object.js";
import { type CallTools, type ConductorCalls, nullIf } from "./nova-conductor.js";

const ACTION_OBJECT: RecordObject<InstanceAction> = {
  name: "InstanceAction",
  fields: {
    id: number(),
    action: text(""),
    instanceUuid: text(),
    requestId: text(""),
    userId: nullable(text()),
    projectId: nullable(text()),
    startTime: timestamp,
    finishTime: nullable(timestamp),
    message: nullable(text()),
    updatedAt: readOnly(nullable(timestamp)),
  },
};

export const ACTION_CALLS = {
  // Nova returns no event id: the event is identified by instance, request and name.
  instance_action_event_start: async ({ instanceUuid, event, host, requestId }, { nova, rows, options }) => {
    const started = await nullIf(
      nova
        .ask(
          "InstanceActionEvent",
          "event_start",
          [instanceUuid, event],
          { want_result: false, host },
          { ...options, requestId, writes: true },
        )
        .then(() => true),
      "InstanceActionNotFound",
    );
    return started === null ? null : rows.openEvent({ instanceUuid, event, requestId });
  },
  // Without details and traceback, the event has succeeded.
  instance_action_event_finish: async ({ eventId, result, details, traceback }, { nova, rows, options }) => {
    const open = rows.closeEvent(eventId);
    if (open !== undefined) {
      const { instanceUuid, event, requestId } = open;
      const failure = { exc_val: details ?? "an error without a message", exc_tb: traceback ?? "" };
      await nova.ask(
        "InstanceActionEvent",
        "event_finish_with_failure",
        [instanceUuid, event],
        { ...(result === "Error" ? failure : { exc_val: null, exc_tb: null }), want_result: false },
        { ...options, requestId, writes: true },
      );
    }
    return null;
  },
  instance_actions: ({ instanceUuid }, tools) => actionsOf(instanceUuid, tools),
} satisfies Partial<ConductorCalls>;

async function actionsOf(uuid: string, { nova, options }: CallTools): Promise<InstanceAction[]> {
  const list = await nova.ask("InstanceActionList", "get_by_instance_uuid", [uuid], {}, options);
  return listedObjects(list, "InstanceActionList").map((action) => readRecord(ACTION_OBJECT, action));
}

/** Actions that do not set a task_state. */
const WITHOUT_TASK: ReadonlySet<string> = new Set([
  "lock",
  "unlock",
  "confirmResize",
  "live_migration_cancel",
  "live_migration_force_complete",
  "trigger_crash_dump",
  "attach_interface",
  "detach_interface",
  "attach_volume",
  "detach_volume",
  "swap_volume",
  "extend_volume",
]);

/**
 * Rejects a save that a later user request has superseded. A task_state does not contain its request, but the instance's
 * actions show later requests. They are read before the save. Requests that are not from a user have no action and are
 * always accepted.
 * @throws {UnexpectedTaskState}
 */
export async function assertNotSuperseded(uuid: string, requestId: string, tools: CallTools): Promise<void> {
  const actions = await actionsOf(uuid, tools);
  const own = actions.find((action) => action.requestId === requestId);
  const later = actions.find(({ id, action }) => own !== undefined && id > own.id && !WITHOUT_TASK.has(action));
  if (later !== undefined) {
    throw new ConductorError(
      "UnexpectedTaskState",
      `instance ${uuid}: ${own?.action} of ${requestId} was superseded by ${later.action} of ${later.requestId}`,
      { uuid, request: later.requestId },
    );
  }
}
