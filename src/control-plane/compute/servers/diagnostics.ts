import { MAX_INTEGER } from "../../../records/field.js";
import type { GuestDiagnostics } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { schemas } from "../../http/schemas.js";
import { askAgent } from "../api/agents.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin, requireMember } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireHost, type ServerAction } from "./actions/server-action.js";
import { findServer } from "./find-server.js";

export const DIAGNOSTICS_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/servers/:id/diagnostics", handle: readDiagnostics },
];

const VERB = "get_diagnostics";

/**
 * Handles GET /servers/{id}/diagnostics (spec 6.10): driver-specific counters before 2.48, one format for all drivers
 * since.
 */
async function readDiagnostics(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  const { instance } = findServer(deps, call);
  requireAdmin(call, "os_compute_api:os-server-diagnostics");
  const host = requireHost(instance);
  const params = { instanceUuid: instance.uuid, requestId: call.requestId };
  if (call.version < 48) {
    return { body: (await askAgent(deps, call, host, "get_diagnostics", params, VERB)) as Json };
  }
  return { body: view(await askAgent(deps, call, host, "get_instance_diagnostics", params, VERB)) };
}

function view(found: GuestDiagnostics & { readonly state: string }): Json {
  return {
    state: found.state,
    driver: found.driver,
    hypervisor: found.hypervisor,
    hypervisor_os: found.hypervisorOs,
    uptime: found.uptime,
    config_drive: found.configDrive,
    num_cpus: found.cpuDetails.length,
    num_nics: found.nicDetails.length,
    num_disks: found.diskDetails.length,
    disk_details: found.diskDetails.map(underscored),
    cpu_details: found.cpuDetails.map(underscored),
    nic_details: found.nicDetails.map(underscored),
    memory_details: underscored(found.memoryDetails),
  };
}

function underscored(details: Readonly<Record<string, string | number | null>>): Json {
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}

interface ConsoleOutputBody {
  readonly "os-getConsoleOutput": { readonly length?: number | string | null };
}

const SCHEMA = schemas<ConsoleOutputBody>([
  1,
  {
    type: "object",
    properties: {
      "os-getConsoleOutput": {
        type: "object",
        properties: { length: { type: ["integer", "string", "null"], pattern: "^-?[0-9]+$", minimum: -1 } },
        additionalProperties: false,
      },
    },
    required: ["os-getConsoleOutput"],
    additionalProperties: false,
  },
]);

/** Characters that XML does not allow; Nova removes them from JSON as well. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f]/g;

/** Handles os-getConsoleOutput (spec 6.10), which returns what the guest wrote to its console. */
export const consoleOutput: ServerAction = {
  name: "os-getConsoleOutput",
  schema: SCHEMA,
  ask: async (deps, call) => {
    const { length = null } = call.body(SCHEMA)["os-getConsoleOutput"];
    const { instance } = findServer(deps, call);
    requireMember(call, "os_compute_api:os-console-output");
    const tailLength = length === null ? null : Math.max(-MAX_INTEGER, Math.min(MAX_INTEGER, Number(length)));
    const params = { instanceUuid: instance.uuid, requestId: call.requestId, tailLength };
    const method = "get_console_output";
    const output = await askAgent(deps, call, requireHost(instance), method, params, method);
    return { body: { output: output.replaceAll(UNPRINTABLE, "") } };
  },
};
