import { askAgent } from "../api/ask-agent.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/formats.js";
import { readPage } from "../api/paging.js";
import { requireAdmin } from "../api/policy.js";
import { BOOLEAN, boolFromText, INTEGER_TEXT, SINGLE } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { isUp } from "../services/service-status.js";
import { amounts, type Hypervisor } from "./hypervisor-view.js";
import { findHypervisor, showPage, showSome } from "./read-hypervisors.js";

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
  { method: "GET", path: "/os-hypervisors", handle: (deps, call) => list(deps, false, call) },
  { method: "GET", path: "/os-hypervisors/detail", handle: (deps, call) => list(deps, true, call) },
  { method: "GET", path: "/os-hypervisors/statistics", until: 87, handle: statistics },
  { method: "GET", path: "/os-hypervisors/:id", handle: show },
  { method: "GET", path: "/os-hypervisors/:id/uptime", until: 87, handle: uptime },
  {
    method: "GET",
    path: "/os-hypervisors/:pattern/search",
    until: 52,
    handle: (deps, call) => search(deps, false, call),
  },
  {
    method: "GET",
    path: "/os-hypervisors/:pattern/servers",
    until: 52,
    handle: (deps, call) => search(deps, true, call),
  },
];

/** The ids of the nodes whose names have the pattern in them. @throws {Fault} 404 */
function matching({ store }: ComputeDeps, pattern: string): readonly number[] {
  const lowerPattern = pattern.toLowerCase();
  const found = store.computeNodes
    .servedNames()
    .filter(({ hypervisorHostname }) => hypervisorHostname.toLowerCase().includes(lowerPattern));
  if (found.length === 0) {
    throw notFound(`No hypervisor matching '${pattern}' could be found.`);
  }
  return found.map(({ id }) => id);
}

async function list(deps: ComputeDeps, detail: boolean, call: Call): Promise<ComputeResponse> {
  call.checkQuery(LIST_QUERY);
  requireAdmin(call, policy(detail ? "list-detail" : "list"));
  const { version, query } = call;
  const showing = { detail, servers: version >= 53 && boolFromText(query.get("with_servers")) };
  const pattern = version >= 53 ? query.get("hypervisor_hostname_pattern") : undefined;
  if (pattern !== undefined) {
    if (query.get("limit") !== undefined || query.get("marker") !== undefined) {
      throw badRequest(
        "Paging over hypervisors with the hypervisor_hostname_pattern query parameter is not supported.",
      );
    }
    return { body: { hypervisors: await showSome(deps, call, matching(deps, pattern), showing) } };
  }
  if (version < 33) {
    return { body: { hypervisors: (await showPage(deps, call, showing)).views } };
  }
  const { limit, marker } = readPage(call);
  const { views, last } = await showPage(deps, call, { ...showing, limit, after: placeOf(deps, call, marker) });
  const path = detail ? "os-hypervisors/detail" : "os-hypervisors";
  const links =
    last && views.length === limit
      ? { hypervisors_links: call.links.next(path, query, version >= 53 ? last.uuid : String(last.id)) }
      : {};
  return { body: { hypervisors: views, ...links } };
}

/** Where the page begins. @throws {Fault} 400 there is no such hypervisor */
function placeOf(deps: ComputeDeps, { version }: Call, marker: string | undefined): number {
  if (marker === undefined) {
    return 0;
  }
  const found = version >= 53 || /^\d+$/.test(marker) ? findHypervisor(deps, marker) : undefined;
  if (!found) {
    throw badRequest(`marker [${marker}] not found`);
  }
  return found.node.id;
}

/** @throws {Fault} 400, 404 */
function find(deps: ComputeDeps, call: Call): Hypervisor {
  const id = call.param("id");
  if (call.version >= 53 && !isUuidLike(id)) {
    throw badRequest(`Invalid uuid ${id}`);
  }
  const found = call.version >= 53 || /^\d+$/.test(id) ? findHypervisor(deps, id) : undefined;
  if (!found) {
    throw notFound(`Hypervisor with ID '${id}' could not be found.`);
  }
  return found;
}

async function show(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  call.checkQuery(SHOW_QUERY);
  requireAdmin(call, policy("show"));
  const servers = call.version >= 53 && boolFromText(call.query.get("with_servers"));
  const { node } = find(deps, call);
  const [hypervisor = null] = await showSome(deps, call, [node.id], { detail: true, servers });
  return { body: { hypervisor } };
}

/** What the host itself says; since 2.88 it is a member of the hypervisor. @throws {Fault} 400, 404, 501 */
async function uptime(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  requireAdmin(call, policy("uptime"));
  const { node, service } = find(deps, call);
  if (!isUp(deps, service)) {
    throw badRequest(`Compute service of ${service.host} is unavailable at this time.`);
  }
  const reportedUptime = await askAgent(deps, call, service.host, "get_host_uptime", {}, "get_host_uptime");
  const [view = {}] = await showSome(deps, call, [node.id], { detail: false, servers: false });
  return { body: { hypervisor: { ...view, uptime: reportedUptime } } };
}

async function search(deps: ComputeDeps, servers: boolean, call: Call): Promise<ComputeResponse> {
  requireAdmin(call, policy(servers ? "servers" : "search"));
  const found = matching(deps, call.param("pattern"));
  return { body: { hypervisors: await showSome(deps, call, found, { detail: false, servers }) } };
}

function statistics({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, policy("statistics"));
  const { count, sums } = store.computeNodes.servedSums();
  return { body: { hypervisor_statistics: { count, ...amounts(sums) } } };
}
