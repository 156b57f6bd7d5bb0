import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin, requireMember } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireHost, type ServerAction } from "./actions/server-action.js";
import { findServer } from "./find-server.js";

const POLICY = "os_compute_api:os-remote-consoles";

interface RemoteConsoleBody {
  readonly remote_console: { readonly protocol: string; readonly type: string };
}

function body(name: string, properties: Readonly<Record<string, Schema>>): Schema {
  const console = { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
  return { type: "object", properties: { [name]: console }, required: [name], additionalProperties: false };
}

const oneOf = (...values: readonly string[]): Schema => ({ type: "string", enum: values });

const PROTOCOLS = ["vnc", "spice", "rdp", "serial"];
const TYPES = ["novnc", "xvpvnc", "rdp-html5", "spice-html5", "serial"];
const CREATE = schemas<RemoteConsoleBody>(
  [6, body("remote_console", { protocol: oneOf(...PROTOCOLS), type: oneOf(...TYPES) })],
  [8, body("remote_console", { protocol: oneOf(...PROTOCOLS, "mks"), type: oneOf(...TYPES, "webmks") })],
);

export const REMOTE_CONSOLE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "POST",
    path: "/servers/:id/remote-consoles",
    from: 6,
    handle: (deps, call) => {
      const { protocol, type } = call.body(CREATE).remote_console;
      return rejectConsole(deps, call, `get_${protocol}_console`, type);
    },
  },
  {
    method: "GET",
    path: "/os-console-auth-tokens/:token",
    handle: (_deps, call) => {
      requireAdmin(call, "os_compute_api:os-console-auth-tokens");
      throw notFound("Token not found");
    },
  },
];

/** The actions that 2.6 replaces by one path. */
export const consoleActions: readonly ServerAction[] = [
  consoleAction("os-getVNCConsole", "get_vnc_console", "novnc", "xvpvnc"),
  consoleAction("os-getSPICEConsole", "get_spice_console", "spice-html5"),
  consoleAction("os-getRDPConsole", "get_rdp_console", "rdp-html5"),
  consoleAction("os-getSerialConsole", "get_serial_console", "serial"),
];

function consoleAction(name: string, verb: string, ...types: readonly string[]): ServerAction {
  const schema = schemas<Readonly<Record<string, { readonly type: string }>>>([
    1,
    body(name, { type: oneOf(...types) }),
  ]);
  return {
    name,
    until: 5,
    schema,
    run: (deps, call) => rejectConsole(deps, call, verb, call.body(schema)[name]?.type ?? ""),
  };
}

/**
 * Rejects the request as a Nova without consoles does: guests have none that a network could reach. @throws {HttpError}
 * 400, 404, 409
 */
function rejectConsole(deps: ComputeDeps, call: Call, verb: string, type: string): ComputeResponse {
  const { instance } = findServer(deps, call);
  requireMember(call, POLICY);
  requireHost(instance);
  const { uuid, taskState } = instance;
  if (taskState === "deleting" || taskState === "migrating") {
    throw conflict(`Cannot '${verb}' instance ${uuid} while it is in task_state ${taskState}`);
  }
  throw badRequest(`Unavailable console type ${type}.`);
}
