import { InstanceNotFound } from "../../conductor/errors.js";
import type { InstanceAction, InstanceActionEvent } from "../../conductor/records/index.js";
import { refuse } from "./check.js";
import * as codec from "./codec.js";
import type { ActionStore } from "./store.js";
import type { StoreContext } from "./store-context.js";
import { type Columns, Table } from "./table.js";

const LONG = 1024 * 1024;

const ACTION_COLUMNS: Columns<InstanceAction> = {
  id: codec.rowId,
  action: codec.text(),
  instanceUuid: codec.uuid,
  requestId: codec.text(),
  userId: codec.textOrNull(),
  projectId: codec.textOrNull(),
  startTime: codec.time,
  finishTime: codec.timeOrNull,
  message: codec.textOrNull(),
  updatedAt: codec.timeOrNull,
};

const EVENT_COLUMNS: Columns<InstanceActionEvent> = {
  id: codec.rowId,
  actionId: codec.rowId,
  event: codec.text(),
  startTime: codec.time,
  finishTime: codec.timeOrNull,
  result: codec.oneOfOrNull(["Success", "Error"]),
  traceback: codec.textOrNull(LONG),
  details: codec.textOrNull(LONG),
  host: codec.textOrNull(),
};

/** Tables `instance_actions` and `instance_action_events` (spec 1.6). */
export class Actions implements ActionStore {
  readonly #context: StoreContext;
  readonly #actions: Table<InstanceAction>;
  readonly #events: Table<InstanceActionEvent>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#actions = new Table(context.sql, "instance_actions", ACTION_COLUMNS);
    this.#events = new Table(context.sql, "instance_action_events", EVENT_COLUMNS);
  }

  start(action: Parameters<ActionStore["start"]>[0]): InstanceAction {
    const { sql, clock } = this.#context;
    return sql.transaction(() => {
      if (!sql.get("SELECT 1 FROM instances WHERE uuid = ?", action.instanceUuid)) {
        throw new InstanceNotFound(`instance ${action.instanceUuid} was not found; an action needs one`, {
          uuid: action.instanceUuid,
        });
      }
      const id = this.#actions.insert({ ...action, startTime: clock.now() });
      const [started] = this.#actions.many("id = ?", id);
      return started ?? refuse("action", id, "a stored action");
    });
  }

  startEvent(event: Parameters<ActionStore["startEvent"]>[0]): number | null {
    return this.#context.sql.transaction(() => {
      const action = this.get(event.instanceUuid, event.requestId) ?? this.list(event.instanceUuid)[0];
      if (!action) {
        return null;
      }
      const now = this.#context.clock.now();
      this.#actions.update(action.id, { updatedAt: now });
      return this.#events.insert({ actionId: action.id, event: event.event, host: event.host, startTime: now });
    });
  }

  finishEvent(eventId: number, outcome: Parameters<ActionStore["finishEvent"]>[1]): void {
    this.#context.sql.transaction(() => {
      const event = this.#events.one("id = ?", eventId) ?? refuse("eventId", eventId, "the id of a started event");
      const now = this.#context.clock.now();
      this.#events.update(eventId, { ...outcome, finishTime: now });
      // An action that failed once stays failed, whatever its later events report.
      const failed = outcome.result === "Error" ? { message: "Error" } : {};
      this.#actions.update(event.actionId, { ...failed, finishTime: now, updatedAt: now });
    });
  }

  /** Newest first. */
  list(instanceUuid: string): InstanceAction[] {
    return this.#actions.many("instance_uuid = ? ORDER BY id DESC", instanceUuid);
  }

  get(instanceUuid: string, requestId: string): InstanceAction | null {
    return this.#actions.one("instance_uuid = ? AND request_id = ? ORDER BY id DESC LIMIT 1", instanceUuid, requestId);
  }

  /** In the order they started. */
  events(actionId: number): InstanceActionEvent[] {
    return this.#events.many("action_id = ? ORDER BY id", actionId);
  }
}
