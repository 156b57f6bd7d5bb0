import type { InstanceAction } from "../../records/index.js";
import { nullable, number, readOnly, text, time } from "../objects/field-codec.js";
import { listedObjects } from "../objects/primitive.js";
import { type RecordObject, readRecord } from "../objects/record-object.js";
import type { ConductorCalls } from "./calls.js";
import { nullIf } from "./nova-conductor.js";

const ACTION_OBJECT: RecordObject<InstanceAction> = {
  name: "InstanceAction",
  fields: {
    id: number(),
    action: text(""),
    instanceUuid: text(),
    requestId: text(""),
    userId: nullable(text()),
    projectId: nullable(text()),
    startTime: time,
    finishTime: nullable(time),
    message: nullable(text()),
    updatedAt: readOnly(nullable(time)),
  },
};

export const ACTION_CALLS: ConductorCalls<
  "instance_action_event_start" | "instance_action_event_finish" | "instance_actions"
> = {
  // No number of the event comes back: it is told from others by instance, request and name.
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
  // With neither text it has succeeded.
  instance_action_event_finish: async ({ eventId, result, details, traceback }, { nova, rows, options }) => {
    const open = rows.closeEvent(eventId);
    if (open !== undefined) {
      const { instanceUuid, event, requestId } = open;
      const failure = { exc_val: details ?? "an error without a text", exc_tb: traceback ?? "" };
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
  instance_actions: async ({ instanceUuid }, { nova, options }) => {
    const list = await nova.ask("InstanceActionList", "get_by_instance_uuid", [instanceUuid], {}, options);
    return listedObjects(list, "InstanceActionList").map((action) => readRecord(ACTION_OBJECT, action));
  },
};
