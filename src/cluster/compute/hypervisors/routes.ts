import type { Json } from "../../http/json.js";
import type { Answer, Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, Fault, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/formats.js";
import { readPage, takePage } from "../api/paging.js";
import { requireAdmin } from "../api/policy.js";
import { BOOLEAN, boolFromText, INTEGER_TEXT, SINGLE } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { isUp } from "../services/service-status.js";
import { amounts, type Hypervisor, hypervisorView } from "./hypervisor-view.js";

const paging = { limit: SINGLE(INTEGER_TEXT), marker: SINGLE() };
const LIST_QUERY = schemas(
  [1, { type: "object", additionalProperties: true }],
  [33, { type: "object", properties: paging, additionalProperties: true }],
  [
    53,
    {
      type: "object",
      properties: {
        ...paging,
        marker: SINGLE({ type: "string", format: "uuid" }),
        hypervisor_hostname_pattern: SINGLE({ type: "string", minLength: 1, maxLength: 255 }),
        with_servers: SINGLE(BOOLEAN),
      },
      additionalProperties: false,
    },
  ],
);
const SHOW_QUERY = schemas(
  [1, { type: "object", additionalProperties: true }],
  [53, { type: "object", properties: { with_servers: SINGLE(BOOLEAN) }, additionalProperties: false }],
);

const policy = (what: string): string => `os_compute_api:os-hypervisors:${what}`;

export const HYPERVISOR_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-hypervisors", answer: (deps, call) => list(deps, false, call) },
  { method: "GET", path: "/os-hypervisors/detail", answer: (deps, call) => list(deps, true, call) },
  { method: "GET", path: "/os-hypervisors/statistics", until: 87, answer: statistics },
  { method: "GET", path: "/os-hypervisors/:id", answer: show },
  { method: "GET", path: "/os-hypervisors/:id/uptime", until: 87, answer: uptime },
  {
    method: "GET",
    path: "/os-hypervisors/:pattern/search",
    until: 52,
    answer: (deps, call) => search(deps, false, call),
  },
  {
    method: "GET",
    path: "/os-hypervisors/:pattern/servers",
    until: 52,
    answer: (deps, call) => search(deps, true, call),
  },
];

/** Nodes whose service is there; others are left-overs. */
function hypervisors({ store }: ComputeDeps): readonly Hypervisor[] {
  const services = new Map(store.services.list({ binary: "nova-compute" }).map((service) => [service.host, service]));
  return store.computeNodes.list().flatMap((node) => {
    const service = services.get(node.host);
    return service ? [{ node, service }] : [];
  });
}

function serversOn({ store }: ComputeDeps, { node }: Hypervisor) {
  return store.instances.byHost(node.host).map(({ displayName, uuid }) => ({ name: displayName, uuid }));
}

function matching(deps: ComputeDeps, pattern: string): readonly Hypervisor[] {
  const found = hypervisors(deps).filter(({ node }) =>
    node.hypervisorHostname.toLowerCase().includes(pattern.toLowerCase()),
  );
  if (found.length === 0) {
    throw notFound(`No hypervisor matching '${pattern}' could be found.`);
  }
  return found;
}

function list(deps: ComputeDeps, detail: boolean, call: Call): Answer {
  call.checkQuery(LIST_QUERY);
  requireAdmin(call, policy(detail ? "list-detail" : "list"));
  const { version, query } = call;
  const withServers = version >= 53 && boolFromText(query.get("with_servers"));
  const view = (hypervisor: Hypervisor): Json => {
    const servers = withServers ? serversOn(deps, hypervisor) : undefined;
    return hypervisorView(deps, hypervisor, { version, detail, servers });
  };
  const pattern = version >= 53 ? query.get("hypervisor_hostname_pattern") : undefined;
  if (pattern !== undefined) {
    if (query.get("limit") !== undefined || query.get("marker") !== undefined) {
      throw badRequest(
        "Paging over hypervisors with the hypervisor_hostname_pattern query parameter is not supported.",
      );
    }
    return { body: { hypervisors: matching(deps, pattern).map(view) } };
  }
  if (version < 33) {
    return { body: { hypervisors: hypervisors(deps).map(view) } };
  }
  const page = readPage(call);
  const id = ({ node }: Hypervisor): string => (version >= 53 ? node.uuid : String(node.id));
  const found = takePage(hypervisors(deps), page, id);
  const last = found.at(-1);
  const more = last && found.length === page.limit;
  const path = detail ? "os-hypervisors/detail" : "os-hypervisors";
  return {
    body: {
      hypervisors: found.map(view),
      ...(more ? { hypervisors_links: call.links.next(path, query.entries, id(last)) } : {}),
    },
  };
}

/** @throws {Fault} 400, 404 */
function find(deps: ComputeDeps, call: Call): Hypervisor {
  const id = call.param("id");
  if (call.version >= 53 && !isUuidLike(id)) {
    throw badRequest(`Invalid uuid ${id}`);
  }
  const found = hypervisors(deps).find(({ node }) =>
    call.version >= 53 ? node.uuid === id.toLowerCase() : String(node.id) === id,
  );
  if (!found) {
    throw notFound(`Hypervisor with ID '${id}' could not be found.`);
  }
  return found;
}

function show(deps: ComputeDeps, call: Call): Answer {
  call.checkQuery(SHOW_QUERY);
  requireAdmin(call, policy("show"));
  const { version } = call;
  const hypervisor = find(deps, call);
  const withServers = version >= 53 && boolFromText(call.query.get("with_servers"));
  const servers = withServers ? serversOn(deps, hypervisor) : undefined;
  return { body: { hypervisor: hypervisorView(deps, hypervisor, { version, detail: true, servers }) } };
}

/** No driver tells; a host that is down could not be asked anyway. */
function uptime(deps: ComputeDeps, call: Call): Answer {
  requireAdmin(call, policy("uptime"));
  const { service } = find(deps, call);
  if (!isUp(deps, service)) {
    throw badRequest(`Compute service of ${service.host} is unavailable at this time.`);
  }
  throw new Fault(501, "The requested functionality is not supported.");
}

function search(deps: ComputeDeps, withServers: boolean, call: Call): Answer {
  requireAdmin(call, policy(withServers ? "servers" : "search"));
  const found = matching(deps, call.param("pattern"));
  return {
    body: {
      hypervisors: found.map((hypervisor) => {
        const servers = withServers ? serversOn(deps, hypervisor) : undefined;
        return hypervisorView(deps, hypervisor, { version: call.version, detail: false, servers });
      }),
    },
  };
}

function statistics(deps: ComputeDeps, call: Call): Answer {
  requireAdmin(call, policy("statistics"));
  const rows = hypervisors(deps).map(({ node }) => amounts(node));
  const names = [
    "vcpus",
    "memory_mb",
    "local_gb",
    "vcpus_used",
    "memory_mb_used",
    "local_gb_used",
    "free_ram_mb",
    "free_disk_gb",
    "current_workload",
    "running_vms",
    "disk_available_least",
  ];
  const sums = names.map((name) => [name, rows.reduce((sum, row) => sum + (row[name] ?? 0), 0)] as const);
  return { body: { hypervisor_statistics: { count: rows.length, ...Object.fromEntries(sums) } } };
}
