import type { Instance } from "../../../conductor/records/index.js";
import type { InstanceQuery } from "../../store/store.js";
import type { Answer, Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { type Page, readPage, takePage } from "../api/paging.js";
import { requireReader } from "../api/policy.js";
import type { FoundServer } from "./find-server.js";
import { readFilters, type ServerFilters } from "./list-filters.js";
import { LIST_QUERY } from "./list-schema.js";
import { readSort } from "./list-sort.js";
import { ServerView } from "./server-view.js";

/** GET /servers and GET /servers/detail. */
export const listServers =
  (deps: ComputeDeps, detail: boolean) =>
  async (call: Call): Promise<Answer> => {
    const rule = `os_compute_api:servers:${detail ? "detail" : "index"}`;
    call.checkQuery(LIST_QUERY);
    requireReader(call, rule);
    const filters = readFilters(call, `${rule}:get_all_tenants`);
    const page = readPage(call);
    const found = filters.nothing ? [] : await selectServers(deps, filters, readSort(call), page);
    const view = new ServerView(deps, call);
    const path = detail ? "servers/detail" : "servers";
    const last = found.at(-1);
    const more = last && found.length === page.limit;
    return {
      body: {
        servers: found.map((server) => (detail ? view.detail(server, { groups: false }) : view.brief(server.instance))),
        ...(more ? { servers_links: call.links.next(path, call.query.entries, last.instance.uuid) } : {}),
      },
    };
  };

/** Rows that are read and judged in one go. */
const ROWS = 100;

/** Servers that are only asked for come first, as the newest ones. */
const selectServers = async (
  deps: ComputeDeps,
  filters: ServerFilters,
  sort: InstanceQuery["sort"],
  { limit, marker }: Page,
): Promise<readonly FoundServer[]> => {
  const { query, name, predicates } = filters;
  const { store, timers } = deps;
  const asked = store.requests
    .buildRequests(query.projectId)
    .map(({ instance }) => instance)
    .filter((instance) => matches(instance, query) && predicates.every((predicate) => predicate(instance)));
  const pending = name
    ? await name.select(
        asked,
        ({ displayName }) => displayName,
        () => timers.sleep(0),
      )
    : asked;
  const at = pending.findIndex(({ uuid }) => uuid === marker);
  const inPending = marker === undefined || at >= 0;
  const building = inPending ? pending.slice(at + 1, at + 1 + limit) : [];
  const page = { limit: limit - building.length, marker: inPending ? undefined : marker };
  const placed = await selectPlaced(deps, { ...filters, query: { ...query, ...(sort ? { sort } : {}) } }, page);
  return [
    ...building.map((instance) => ({ instance, building: true })),
    ...placed.map((instance) => ({ instance, building: false })),
  ];
};

const selectPlaced = async (
  { store, timers }: ComputeDeps,
  { query, name, predicates }: ServerFilters,
  { limit, marker }: Page,
): Promise<readonly Instance[]> => {
  // The marker is a place in the order, also when the filters leave it out.
  if (marker !== undefined && !store.instances.get(marker, { readDeleted: true })) {
    throw badRequest(`marker [${marker}] not found`);
  }
  if (!name && predicates.length === 0) {
    return store.instances.list({ ...query, limit, ...(marker === undefined ? {} : { marker }) });
  }
  const pause = () => timers.sleep(0);
  const members = takePage(
    store.instances.names(query),
    { limit: Number.MAX_SAFE_INTEGER, marker },
    ({ uuid }) => uuid,
  );
  const named = name ? await name.select(members, ({ displayName }) => displayName, pause) : members;
  const found: Instance[] = [];
  for (let from = 0; from < named.length && found.length < limit; from += ROWS) {
    if (from > 0) await pause();
    // The query once more: what has changed during a pause is judged as it is now.
    const rows = store.instances.list({ ...query, uuids: named.slice(from, from + ROWS).map(({ uuid }) => uuid) });
    found.push(...rows.filter((instance) => predicates.every((predicate) => predicate(instance))));
  }
  return found.slice(0, limit);
};

/** What {@link InstanceQuery} means, for a server that has no row yet. */
const matches = (instance: Instance, query: InstanceQuery): boolean => {
  const changed = instance.updatedAt ?? instance.createdAt;
  const same = (wanted: unknown, found: unknown): boolean => wanted === undefined || wanted === found;
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
};
