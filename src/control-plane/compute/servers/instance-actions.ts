import type { Instance, InstanceAction, InstanceActionEvent } from "../../../records/index.js";
import { badRequest, notFound } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { schemas } from "../../http/schemas.js";
import { isoMicroseconds, parseIsoTime } from "../../http/times.js";
import { type Call, type ComputeResponse, type ComputeRoute, readPage, requireReader, takePage } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { INTEGER_TEXT, SINGLE } from "../api/schema-parts.js";
import { findServer } from "./find-server.js";

const TIME = SINGLE({ type: "string", format: "date-time" });
const v58 = { limit: SINGLE(INTEGER_TEXT), marker: SINGLE(), "changes-since": TIME };
const QUERY = schemas(
  [1, { type: "object", additionalProperties: true }],
  [58, { type: "object", properties: v58, additionalProperties: false }],
  [66, { type: "object", properties: { ...v58, "changes-before": TIME }, additionalProperties: false }],
);

/** Routes of the actions requested for a server, and their results. */
export const INSTANCE_ACTION_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/servers/:id/os-instance-actions", handle: listActions },
  { method: "GET", path: "/servers/:id/os-instance-actions/:request", handle: showAction },
];

/** Returns the server. Since 2.21, the actions of deleted servers can be read. */
function serverOf(deps: ComputeDeps, call: Call): Instance {
  return findServer(deps, call, { readDeleted: call.version >= 21 }).instance;
}

function listActions(deps: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(QUERY);
  const instance = serverOf(deps, call);
  requireReader(call, "os_compute_api:os-instance-actions:list");
  const actions = deps.store.actions.list(instance.uuid);
  const view = (action: InstanceAction) => actionView(action, call.version);
  if (call.version < 58) {
    return { body: { instanceActions: actions.map(view) } };
  }
  const page = readPage(call);
  const found = takePage(changed(call, actions), page, ({ requestId }) => requestId);
  const last = found.at(-1);
  const more = last && found.length === page.limit;
  const path = `servers/${instance.uuid}/os-instance-actions`;
  return {
    body: {
      instanceActions: found.map(view),
      ...(more ? { links: call.links.next(path, call.query, last.requestId) } : {}),
    },
  };
}

function changed(call: Call, actions: readonly InstanceAction[]): readonly InstanceAction[] {
  const [since, before] = ["changes-since", "changes-before"].map((name) => parseIsoTime(call.query.get(name) ?? ""));
  if (since !== undefined && before !== undefined && since > before) {
    throw badRequest("The value of changes-since must be less than or equal to changes-before.");
  }
  return actions.filter(({ updatedAt, startTime }) => {
    const time = updatedAt ?? startTime;
    return (since === undefined || time >= since) && (before === undefined || time <= before);
  });
}

function showAction(deps: ComputeDeps, call: Call): ComputeResponse {
  const { version, isAdmin } = call;
  const instance = serverOf(deps, call);
  requireReader(call, "os_compute_api:os-instance-actions:show");
  const id = call.param("request");
  const action = deps.store.actions.get(instance.uuid, id);
  if (!action) {
    throw notFound(`Action ${id} not found`);
  }
  const events = isAdmin || version >= 51 ? deps.store.actions.events(action.id) : undefined;
  const hostId = (host: string | null): string =>
    host === null ? "" : deps.digests.sha224((action.projectId ?? instance.projectId) + host);
  return {
    body: {
      instanceAction: {
        ...actionView(action, version),
        ...(events ? { events: events.map((event) => eventView(event, version, isAdmin, hostId)) } : {}),
      },
    },
  };
}

type View = { readonly [key: string]: Json };

function actionView(action: InstanceAction, version: number): View {
  return {
    action: action.action,
    instance_uuid: action.instanceUuid,
    request_id: action.requestId,
    user_id: action.userId,
    project_id: action.projectId,
    start_time: isoMicroseconds(action.startTime),
    message: action.message,
    ...(version >= 58 ? { updated_at: isoMicroseconds(action.updatedAt ?? action.startTime) } : {}),
  };
}

function eventView(
  event: InstanceActionEvent,
  version: number,
  isAdmin: boolean,
  hostId: (host: string | null) => string,
): View {
  return {
    event: event.event,
    start_time: isoMicroseconds(event.startTime),
    finish_time: event.finishTime === null ? null : isoMicroseconds(event.finishTime),
    result: event.result,
    ...(isAdmin ? { traceback: event.traceback } : {}),
    ...(isAdmin && version >= 62 ? { host: event.host } : {}),
    ...(version >= 62 ? { hostId: hostId(event.host) } : {}),
    ...(isAdmin && version >= 84 ? { details: event.details } : {}),
  };
}
