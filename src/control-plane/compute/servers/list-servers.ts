import type { Instance } from "../../../records/index.js";
import { EventLoopTicks } from "../../event-loop.js";
import { badRequest } from "../../http/http-error.js";
import type { InstanceQuery } from "../../store/instance-queries.js";
import { type Call, type ComputeResponse, type Page, readPage, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import type { FoundServer } from "./find-server.js";
import { readFilters, type ServerFilters } from "./list-filters.js";
import { LIST_QUERY, readSort } from "./list-query.js";
import { type RenderedServer, ServerView } from "./server-view.js";

/** Handles GET /servers and GET /servers/detail. */
export async function listServers(detail: boolean, call: Call): Promise<ComputeResponse> {
  const rule = `os_compute_api:servers:${detail ? "detail" : "index"}`;
  call.checkQuery(LIST_QUERY);
  requireReader(call, rule);
  const filters = readFilters(call, `${rule}:get_all_tenants`);
  const page = readPage(call);
  const sort = readSort(call);
  const ticks = new EventLoopTicks(call.deps);
  const view = new ServerView(call);
  const chosen = { store: call.store, filters, sort, page, ticks };
  const servers = detail
    ? await inDetail(view, await selectServers(chosen), ticks)
    : (await selectNamed(chosen)).map((server) => view.brief(server));
  const path = detail ? "servers/detail" : "servers";
  const last = servers.at(-1);
  const more = last && servers.length === page.limit;
  return {
    body: { servers, ...(more ? { servers_links: call.links.next(path, call.query, String(last.id)) } : {}) },
  };
}

/** Renders the servers. A thousand take about 0.1 s, so other requests get event-loop ticks in between. */
async function inDetail(
  view: ServerView,
  found: readonly FoundServer[],
  ticks: EventLoopTicks,
): Promise<RenderedServer[]> {
  const views: RenderedServer[] = [];
  for (let from = 0; from < found.length; from += ROWS) {
    const servers = found.slice(from, from + ROWS);
    view.lookUp(servers);
    for (const server of servers) {
      if (ticks.due) {
        await ticks.give();
      }
      views.push(view.detail(server, { groups: false }));
    }
  }
  return views;
}

type Named = Pick<Instance, "uuid" | "displayName">;

interface Choice {
  readonly store: ComputeDeps["store"];
  readonly filters: ServerFilters;
  readonly sort: InstanceQuery["sort"];
  readonly page: Page;
  readonly ticks: EventLoopTicks;
}

/** Selects servers for the list without details. Complete rows are read only if a filter needs them. */
async function selectNamed(choice: Choice): Promise<readonly Named[]> {
  const { store, filters, sort, page, ticks } = choice;
  const { query, name, predicates, nothing } = filters;
  if (nothing || name || predicates.length > 0) {
    return (await selectServers(choice)).map(({ instance }) => instance);
  }
  const { building, rest } = await selectPending(store, filters, page, ticks);
  const sorted = { ...query, ...(sort ? { sort } : {}) };
  const { limit, marker } = rest;
  const after = placeBehind(store, sorted, marker);
  return [...building, ...store.instances.names({ ...sorted, ...(after ? { after } : {}), limit })];
}

/** Selects servers. Build requests come first, as the newest servers. */
async function selectServers({ store, filters, sort, page, ticks }: Choice): Promise<readonly FoundServer[]> {
  if (filters.nothing) {
    return [];
  }
  const { building, rest } = await selectPending(store, filters, page, ticks);
  const query = { ...filters.query, ...(sort ? { sort } : {}) };
  const placed = await selectPlaced(store, { ...filters, query }, rest, ticks);
  return [
    ...building.map((instance) => ({ instance, building: true })),
    ...placed.map((instance) => ({ instance, building: false })),
  ];
}

/** Selects the build requests of a page, and returns the rest of the page for the other servers. */
async function selectPending(
  store: ComputeDeps["store"],
  { query, name, predicates }: ServerFilters,
  { limit, marker }: Page,
  ticks: EventLoopTicks,
): Promise<{ readonly building: readonly Instance[]; readonly rest: Page }> {
  const requestedInstances = store.requests
    .buildRequests(query.projectId)
    .map(({ instance }) => instance)
    .filter((instance) => matches(instance, query) && predicates.every((predicate) => predicate(instance)));
  const pending = name
    ? await name.select(requestedInstances, ({ displayName }) => displayName, ticks)
    : requestedInstances;
  const at = pending.findIndex(({ uuid }) => uuid === marker);
  const inPending = marker === undefined || at >= 0;
  const building = inPending ? pending.slice(at + 1, at + 1 + limit) : [];
  return { building, rest: { limit: limit - building.length, marker: inPending ? undefined : marker } };
}

/** Returns the position of the marker, after which the page begins; undefined without a marker. @throws {HttpError} 400 */
function placeBehind(store: ComputeDeps["store"], query: InstanceQuery, marker: string | undefined) {
  const place = marker === undefined ? undefined : store.instances.place(marker, query);
  if (place === null) {
    throw badRequest(`marker [${marker}] not found`);
  }
  return place;
}

/** Names per query, and complete rows per query, which cost more. */
const NAMES = 2000;
const ROWS = 100;

async function selectPlaced(
  store: ComputeDeps["store"],
  { query, name, predicates }: Omit<ServerFilters, "nothing">,
  { limit, marker }: Page,
  ticks: EventLoopTicks,
): Promise<readonly Instance[]> {
  let after = placeBehind(store, query, marker);
  const isFiltered = name !== undefined || predicates.length > 0;
  if (!isFiltered && limit <= ROWS) {
    return store.instances.list({ ...query, ...(after ? { after } : {}), limit });
  }
  const nameLike = name?.like;
  const found: Instance[] = [];
  while (found.length < limit) {
    if (ticks.due) {
      await ticks.give();
    }
    const most = isFiltered ? NAMES : limit - found.length;
    const members = store.instances.names({
      ...query,
      ...(nameLike === undefined ? {} : { nameLike }),
      ...(after ? { after } : {}),
      limit: most,
    });
    const named = name ? await name.select(members, ({ displayName }) => displayName, ticks) : members;
    for (let from = 0; from < named.length && found.length < limit; from += ROWS) {
      if (ticks.due) {
        await ticks.give();
      }
      // The query is repeated because servers may have changed since their names were read.
      const rows = store.instances.list({ ...query, uuids: named.slice(from, from + ROWS).map(({ uuid }) => uuid) });
      found.push(...rows.filter((instance) => predicates.every((predicate) => predicate(instance))));
    }
    const last = members.at(-1);
    if (last === undefined || members.length < most) {
      break;
    }
    after = last.place;
  }
  return found.slice(0, limit);
}

/** Returns whether a build request, which has no row yet, matches the {@link InstanceQuery}. */
function matches(instance: Instance, query: InstanceQuery): boolean {
  const changed = instance.updatedAt ?? instance.createdAt;
  const same = (expected: unknown, found: unknown): boolean => expected === undefined || expected === found;
  return (
    !query.deleted &&
    same(query.projectId, instance.projectId) &&
    same(query.userId, instance.userId) &&
    same(query.host, instance.host) &&
    same(query.node, instance.node) &&
    same(query.flavorId, instance.flavor.flavorid) &&
    same(query.imageRef, instance.imageRef) &&
    (query.uuids?.includes(instance.uuid) ?? true) &&
    (query.vmStates?.includes(instance.vmState) ?? true) &&
    (query.taskStates?.includes(instance.taskState) ?? true) &&
    (query.changesSince === undefined || changed >= query.changesSince) &&
    (query.changesBefore === undefined || changed <= query.changesBefore)
  );
}
