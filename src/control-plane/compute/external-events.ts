import type { Instance } from "../../records/index.js";
import { sendInstanceEvents } from "../conductor/agent-messages.js";
import { type Schema, schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, denied } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { UUID_TEXT } from "./api/schema-parts.js";
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
  const item = { type: "object", properties, required: ["server_uuid", "name"], additionalProperties: false };
  return {
    type: "object",
    properties: { events: { type: "array", minItems: 1, items: item } },
    required: ["events"],
    additionalProperties: false,
  };
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
export const EXTERNAL_EVENT_ROUTES: readonly ComputeRoute[] = [
  { method: "POST", path: "/os-server-external-events", handle: create },
];

function create(deps: ComputeDeps, call: Call): ComputeResponse {
  if (!call.isAdmin && !call.credentials.roles.includes("service")) {
    throw denied("os_compute_api:os-server-external-events:create");
  }
  const body = call.body(EVENTS);
  const results = deps.store.transaction(() => body.events.map((event) => respondTo(deps, call, event)));
  return { status: results.every(({ code }) => code === 200) ? 200 : 207, body: { events: results } };
}

function respondTo(deps: ComputeDeps, call: Call, event: EventBody) {
  const instance = deps.store.instances.get(event.server_uuid.toLowerCase());
  const code = codeOf(event, instance);
  if (code === 200 && instance) {
    accept(deps, call, instance, event);
  }
  return { ...event, code, status: code === 200 ? "completed" : "failed" };
}

/**
 * Forwards the event to the server's host. Like Nova, drops a power-update with an unknown tag but reports it as
 * accepted.
 */
function accept(deps: ComputeDeps, call: Call, instance: Instance, event: EventBody): void {
  const { name, tag = null, status = "completed" } = event;
  if (name === "power-update") {
    const action = POWER_ACTIONS.get(tag ?? "");
    if (action === undefined) {
      return;
    }
    recordAction(deps, call, instance, action);
  }
  sendInstanceEvents(deps, instance, [{ name, tag, status }], call.requestId);
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
