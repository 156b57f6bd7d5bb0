import type { Instance } from "../../records/index.js";
import { sendInstanceEvents } from "../conductor/agent-messages.js";
import { routes } from "../http/router.js";
import { type Schema, schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, denied } from "./api/call.js";
import { bodyOf, object, UUID_TEXT } from "./api/schema-parts.js";
import { recordAction } from "./servers/actions/server-action.js";

interface EventBody {
  readonly server_uuid: string;
  readonly name: string;
  readonly status?: string;
  readonly tag?: string;
}

const STATUSES = ["failed", "completed", "in-progress"];
const OF_NETWORKS = ["network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted"];
const TAG_REQUIRED = ["volume-extended", "power-update", "accelerator-request-bound"];

function events(...more: readonly string[]): Schema {
  const name = { type: "string", enum: [...OF_NETWORKS, ...more] };
  const status = { type: "string", enum: STATUSES };
  const properties = { server_uuid: UUID_TEXT, name, status, tag: { type: "string", maxLength: 255 } };
  return bodyOf("events", { type: "array", minItems: 1, items: object(properties, ["server_uuid", "name"]) });
}

const EVENTS = schemas<{ readonly events: readonly EventBody[] }>(
  [1, events()],
  [51, events("volume-extended")],
  [76, events("volume-extended", "power-update")],
  [82, events("volume-extended", "power-update", "accelerator-request-bound")],
  [93, events("volume-extended", "power-update", "accelerator-request-bound", "volume-reimaged")],
);

/** The action that Nova records for a power-update, by the event's tag. */
const POWER_ACTIONS: ReadonlyMap<string, string> = new Map([
  ["POWER_ON", "start"],
  ["POWER_OFF", "stop"],
]);

/** Events about servers that other services report. Each is forwarded to the server's host (spec 8.6). */
export const EXTERNAL_EVENT_ROUTES = routes<ComputeRoute>({
  "POST /os-server-external-events": create,
});

function create(call: Call): ComputeResponse {
  if (!call.isAdmin && !call.credentials.roles.includes("service")) {
    throw denied("os_compute_api:os-server-external-events:create");
  }
  const body = call.body(EVENTS);
  const results = call.store.transaction(() => body.events.map((event) => respondTo(call, event)));
  return { status: results.every(({ code }) => code === 200) ? 200 : 207, body: { events: results } };
}

function respondTo(call: Call, event: EventBody) {
  const instance = call.store.instances.get(event.server_uuid.toLowerCase());
  const code = codeOf(event, instance);
  if (code === 200 && instance) {
    accept(call, instance, event);
  }
  return { ...event, code, status: code === 200 ? "completed" : "failed" };
}

/**
 * Forwards the event to the server's host. Like Nova, drops a power-update with an unknown tag but reports it as
 * accepted.
 */
function accept(call: Call, instance: Instance, event: EventBody): void {
  const { name, tag = null, status = "completed" } = event;
  if (name === "power-update") {
    const action = POWER_ACTIONS.get(tag ?? "");
    if (action === undefined) {
      return;
    }
    recordAction(call, instance, action);
  }
  if (name === "volume-extended") {
    recordAction(call, instance, "extend_volume");
  }
  sendInstanceEvents(call.deps, instance, [{ name, tag, status }], call.requestId);
}

function codeOf({ name, tag }: EventBody, instance: Instance | null): number {
  if (!instance) {
    return 404;
  }
  if (TAG_REQUIRED.includes(name) && tag === undefined) {
    return 400;
  }
  return instance.host === null ? 422 : 200;
}
