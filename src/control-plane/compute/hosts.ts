import type { Instance } from "../../records/index.js";
import { badRequest, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { schemas } from "../http/schemas.js";
import { allServices, askAgent, isUp, notSupported } from "./api/agents.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { MULTI } from "./api/schema-parts.js";

/** Last microversion with this API. Hypervisors and services replace it. */
const LAST = 42;

const QUERY = schemas([1, { type: "object", properties: { zone: MULTI() }, additionalProperties: true }]);

const SWITCH = { type: "string", enum: ["enable", "disable", "Enable", "Disable", "ENABLE", "DISABLE"] };
const UPDATE = schemas<{ readonly status?: string; readonly maintenance_mode?: string }>([
  1,
  { type: "object", properties: { status: SWITCH, maintenance_mode: SWITCH }, additionalProperties: false },
]);

const policy = (what: string): string => `os_compute_api:os-hosts:${what}`;

export const HOST_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-hosts", until: LAST, handle: listHosts },
  { method: "GET", path: "/os-hosts/:host", until: LAST, handle: showHost },
  { method: "PUT", path: "/os-hosts/:host", until: LAST, handle: updateHost },
  ...(["startup", "shutdown", "reboot"] as const).map((action) => ({
    method: "GET" as const,
    path: `/os-hosts/:host/${action}`,
    until: LAST,
    handle: (deps: ComputeDeps, call: Call) => powerAction(deps, call, action),
  })),
];

/** Lists the enabled services with their hosts. */
async function listHosts(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  call.checkQuery(QUERY);
  requireAdmin(call, policy("list"));
  const requestedZone = call.query.get("zone") ?? "";
  const hosts: Json[] = [];
  for await (const services of allServices(deps)) {
    for (const { host, topic, availabilityZone: zone, disabled } of services) {
      if (!disabled && (requestedZone === "" || zone === requestedZone)) {
        hosts.push({ host_name: host, service: topic, zone });
      }
    }
  }
  return { body: { hosts } };
}

/** @throws {HttpError} 404 */
function requireComputeHost({ store }: ComputeDeps, host: string) {
  const service = store.services.getByHost(host, "nova-compute");
  if (!service) {
    throw notFound(`Host '${host}' is not mapped to any cell`);
  }
  return service;
}

function showHost(deps: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, policy("show"));
  const host = call.param("host");
  requireComputeHost(deps, host);
  const [node] = deps.store.computeNodes.byHost(host);
  if (node === undefined) {
    throw notFound(`Compute host ${host} could not be found.`);
  }
  const row = (project: string, cpu: number, memory: number, disk: number): Json => ({
    resource: { host, project, cpu, memory_mb: memory, disk_gb: disk },
  });
  const instances = deps.store.instances.byHost(host);
  const projects = [...new Set(instances.map(({ projectId }) => projectId))];
  const rowOf = (project: string, all: readonly Instance[]) => row(project, ...sumsOf(all));
  return {
    body: {
      host: [
        row("(total)", node.vcpus, node.memoryMb, node.localGb),
        row("(used_now)", node.vcpusUsed, node.memoryMbUsed, node.localGbUsed),
        rowOf("(used_max)", instances),
        ...projects.map((project) =>
          rowOf(
            project,
            instances.filter(({ projectId }) => projectId === project),
          ),
        ),
      ],
    },
  };
}

function sumsOf(instances: readonly Instance[]): readonly [cpu: number, memory: number, disk: number] {
  const sum = (amount: (instance: Instance) => number) =>
    instances.reduce((total, instance) => total + amount(instance), 0);
  return [
    sum(({ vcpus }) => vcpus),
    sum(({ memoryMb }) => memoryMb),
    sum(({ rootGb, ephemeralGb }) => rootGb + ephemeralGb),
  ];
}

/**
 * Has the host's agent set the trait COMPUTE_STATUS_DISABLED. The service's `disabled` does not change, so the next
 * pass of the tracker sets the trait by it again.
 */
async function updateHost(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  const { status, maintenance_mode: maintenance } = call.body(UPDATE);
  requireAdmin(call, policy("update"));
  const host = call.param("host");
  if (status === undefined && maintenance === undefined) {
    return { body: { host } };
  }
  const service = requireComputeHost(deps, host);
  if (!isUp(deps, service)) {
    throw badRequest(`Compute service of ${host} is unavailable at this time.`);
  }
  const agentReply =
    status === undefined
      ? {}
      : {
          status: await askAgent(deps, call, host, "set_host_enabled", { enabled: isOn(status) }, "set_host_enabled"),
        };
  if (maintenance !== undefined) {
    throw notSupported();
  }
  return { body: { host, ...agentReply } };
}

const isOn = (text: string): boolean => text.toLowerCase() === "enable";

/**
 * Rejects power actions: no driver here can start or stop its own machine, nor can libvirt's. @throws {HttpError} 404, 501
 */
function powerAction(deps: ComputeDeps, call: Call, action: "startup" | "shutdown" | "reboot"): ComputeResponse {
  requireAdmin(call, policy(action === "startup" ? "start" : action));
  requireComputeHost(deps, call.param("host"));
  throw notSupported();
}
