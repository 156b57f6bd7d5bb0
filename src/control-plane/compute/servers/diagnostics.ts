import type { GuestDiagnostics } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { askAgent } from "../api/ask-agent.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { requireHost } from "./actions/server-action.js";
import { findServer } from "./find-server.js";

export const DIAGNOSTICS_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/servers/:id/diagnostics", handle: readDiagnostics },
];

const VERB = "get_diagnostics";

/** Spec 6.10: counters of the driver's own before 2.48, one form for all drivers since. */
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
