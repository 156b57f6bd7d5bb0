import { ConductorError } from "../../conductor-client/errors.js";
import type { ComputeNode, Service } from "../../records/index.js";
import { EventLoopTicks } from "../event-loop.js";
import { badRequest, notFound } from "../http/http-error.js";
import { schemas } from "../http/schemas.js";
import { askAgent, isUp } from "./api/agents.js";
import { type Call, type ComputeResponse, type ComputeRoute, readPage, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { BOOLEAN, boolFromText, INTEGER_TEXT, isUuidLike, SINGLE } from "./api/schema-parts.js";
import { amounts, type Hypervisor, type HypervisorView, hypervisorView } from "./hypervisor-view.js";

type CallContext = Pick<Call, "version" | "requestId">;

interface HypervisorPage {
  readonly views: readonly HypervisorView[];
  readonly last: ComputeNode | undefined;
}

interface Showing {
  readonly detail: boolean;
  readonly servers: boolean;
}

/** Nodes read and rendered per batch. */
const ROWS = 200;

/** Milliseconds that a list waits for a host's uptime. */
const UPTIME_TIMEOUT = 5_000;

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
  { method: "GET", path: "/os-hypervisors/:id/uptime", until: 87, handle: showUptime },
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

/** Returns the ids of the nodes whose name contains the pattern. @throws {HttpError} 404 */
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

/** Returns the node's id after which the page begins. @throws {HttpError} 400 if there is no such hypervisor */
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

/** @throws {HttpError} 400, 404 */
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

/**
 * Returns the uptime that the host reports. Since 2.88 it is a property of the hypervisor. @throws {HttpError} 400, 404,
 * 501
 */
async function showUptime(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
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

/** Renders the nodes after the id `after`, ordered by id. */
async function showPage(
  deps: ComputeDeps,
  call: CallContext,
  { after: start = 0, limit = Number.MAX_SAFE_INTEGER, ...showing }: Showing & { after?: number; limit?: number },
): Promise<HypervisorPage> {
  const ticks = new EventLoopTicks(deps);
  const views: HypervisorView[] = [];
  let last: ComputeNode | undefined;
  while (views.length < limit) {
    const most = Math.min(ROWS, limit - views.length);
    const nodes = deps.store.computeNodes.served({ after: last?.id ?? start, limit: most });
    views.push(...(await viewsOf(deps, call, nodes, showing)));
    last = nodes.at(-1) ?? last;
    if (nodes.length < most) {
      break;
    }
    if (ticks.due) {
      await ticks.give();
    }
  }
  return { views, last };
}

/** Renders the hypervisors with these ids. */
async function showSome(
  deps: ComputeDeps,
  call: CallContext,
  ids: readonly number[],
  showing: Showing,
): Promise<readonly HypervisorView[]> {
  const ticks = new EventLoopTicks(deps);
  const views: HypervisorView[] = [];
  for (let from = 0; from < ids.length; from += ROWS) {
    if (ticks.due) {
      await ticks.give();
    }
    const nodes = deps.store.computeNodes.servedByIds(ids.slice(from, from + ROWS));
    views.push(...(await viewsOf(deps, call, nodes, showing)));
  }
  return views;
}

async function viewsOf(
  deps: ComputeDeps,
  call: CallContext,
  nodes: readonly ComputeNode[],
  { detail, servers }: Showing,
): Promise<readonly HypervisorView[]> {
  const { version } = call;
  const hosts = [...new Set(nodes.map(({ host }) => host))];
  const services = new Map(
    deps.store.services.byHosts(hosts, "nova-compute").map((service) => [service.host, service]),
  );
  const names = servers ? deps.store.instances.namesByHosts(hosts) : undefined;
  const uptimes = detail && version >= 88 ? await uptimesOf(deps, call, [...services.values()]) : undefined;
  return nodes.flatMap((node) => {
    const service = services.get(node.host);
    const uptime = uptimes?.get(node.host) ?? null;
    const options = { version, detail, uptime, servers: names && (names.get(node.host) ?? []) };
    return service ? [hypervisorView(deps, { node, service }, options)] : [];
  });
}

/** Requests the uptime of each host that is up; null if a host does not report one. */
async function uptimesOf(
  deps: ComputeDeps,
  { requestId }: CallContext,
  services: readonly Service[],
): Promise<ReadonlyMap<string, string | null>> {
  const aliveServices = services.filter((service) => isUp(deps, service));
  const options = { requestId, timeout: UPTIME_TIMEOUT };
  const uptimes = await Promise.all(
    aliveServices.map(async ({ host }) => {
      const uptime = await deps.bus.call(host, "get_host_uptime", {}, options).catch(noneKnown);
      return [host, uptime] as const;
    }),
  );
  return new Map(uptimes);
}

/** Returns null for errors of the call to the host. @throws every other error */
function noneKnown(error: unknown): null {
  if (error instanceof ConductorError) {
    return null;
  }
  throw error;
}

/** Finds the node with this uuid or number. Returns undefined if there is none, or its service is deleted. */
function findHypervisor({ store }: Pick<ComputeDeps, "store">, id: string): Hypervisor | undefined {
  const node = /^\d{1,15}$/.test(id)
    ? store.computeNodes.get(Number(id))
    : store.computeNodes.getByUuid(id.toLowerCase());
  const service = node && store.services.getByHost(node.host, "nova-compute");
  return service ? { node, service } : undefined;
}
