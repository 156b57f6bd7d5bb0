import { ConductorError } from "../../conductor-client/errors.js";
import {
  INSTANCE_ACTION,
  INSTANCE_ACTION_EVENT,
  type InstanceAction,
  type InstanceActionEvent,
} from "../../records/index.js";
import { rejectField } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const ACTIONS = tableOf("instance_actions", INSTANCE_ACTION);
const EVENTS = tableOf("instance_action_events", INSTANCE_ACTION_EVENT);

export interface ActionStart {
  readonly action: string;
  readonly instanceUuid: string;
  readonly requestId: string;
  readonly userId: string | null;
  readonly projectId: string | null;
}

export interface EventStart {
  readonly instanceUuid: string;
  readonly event: string;
  readonly host: string | null;
  readonly requestId: string;
}

export interface EventOutcome {
  readonly result: "Success" | "Error";
  readonly details?: string;
  readonly traceback?: string;
}

/** Tables `instance_actions` and `instance_action_events` (spec 1.6). */
export function createActionTables({ sql, clock, changes }: StoreContext) {
  const actions = new Table(sql, ACTIONS);
  const events = new Table(sql, EVENTS);

  return {
    start: (action: ActionStart): InstanceAction =>
      sql.transaction(() => {
        if (!sql.get("SELECT 1 FROM instances WHERE uuid = ?", action.instanceUuid)) {
          const message = `instance ${action.instanceUuid} of the new action was not found`;
          throw new ConductorError("InstanceNotFound", message, { uuid: action.instanceUuid });
        }
        const id = actions.insert({ ...action, startTime: clock.now() });
        changes.changed("action", id);
        return byId(id) ?? rejectField("action", id, "a stored action");
      }),
    /** Starts an event of the action with this request id, or of the newest action; null if the instance has none. */
    startEvent: (event: EventStart): number | null =>
      sql.transaction(() => {
        const actionId = idFor(event);
        if (actionId === null) {
          return null;
        }
        const now = clock.now();
        actions.update(actionId, { updatedAt: now });
        changes.changed("action", actionId);
        return events.insert({ actionId, event: event.event, host: event.host, startTime: now });
      }),
    finishEvent(eventId: number, outcome: EventOutcome): void {
      sql.transaction(() => {
        const [found] = sql.get("SELECT action_id FROM instance_action_events WHERE id = ?", eventId) ?? [];
        const actionId = Number(found ?? rejectField("eventId", eventId, "the id of a started event"));
        const now = clock.now();
        events.update(eventId, { ...outcome, finishTime: now });
        // A failed action stays failed, whatever its later events report.
        const failed = outcome.result === "Error" ? { message: "Error" } : {};
        actions.update(actionId, { ...failed, finishTime: now, updatedAt: now });
        changes.changed("action", actionId);
      });
    },
    /** Returns the actions of an instance, newest first. */
    list: (instanceUuid: string): InstanceAction[] => actions.many("instance_uuid = ? ORDER BY id DESC", instanceUuid),
    byId,
    get: (instanceUuid: string, requestId: string): InstanceAction | null =>
      actions.one("instance_uuid = ? AND request_id = ? ORDER BY id DESC LIMIT 1", instanceUuid, requestId),
    /** Returns the events of an action in the order of their start. */
    events: (actionId: number): InstanceActionEvent[] => events.many("action_id = ? ORDER BY id", actionId),
  };

  function byId(id: number): InstanceAction | null {
    return actions.one("id = ?", id);
  }

  function idFor({ instanceUuid, requestId }: EventStart): number | null {
    const [id] =
      sql.get(
        "SELECT id FROM instance_actions WHERE instance_uuid = ? AND request_id = ? ORDER BY id DESC LIMIT 1",
        instanceUuid,
        requestId,
      ) ??
      sql.get("SELECT id FROM instance_actions WHERE instance_uuid = ? ORDER BY id DESC LIMIT 1", instanceUuid) ??
      [];
    return id === undefined ? null : Number(id);
  }
}
