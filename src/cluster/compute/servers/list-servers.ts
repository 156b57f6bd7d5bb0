import type { Instance } from "../../../conductor/records/index.js";
import { NamePattern } from "../../store/name-pattern.js";
import type { InstanceQuery } from "../../store/store.js";
import type { Answer, Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { type Page, readPage } from "../api/paging.js";
import { requireReader } from "../api/policy.js";
import type { FoundServer } from "./find-server.js";
import { readFilters, type ServerFilters } from "./list-filters.js";
import { LIST_QUERY } from "./list-schema.js";
import { readSort } from "./list-sort.js";
import { ServerView } from "./server-view.js";

/** GET /servers and GET /servers/detail. */
export const listServers =
  (deps: ComputeDeps, detail: boolean) =>
  (call: Call): Answer => {
    const rule = `os_compute_api:servers:${detail ? "detail" : "index"}`;
    call.checkQuery(LIST_QUERY);
    requireReader(call, rule);
    const filters = readFilters(call, `${rule}:get_all_tenants`);
    const page = readPage(call);
    const found = filters.nothing ? [] : selectServers(deps, filters, readSort(call), page);
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

/** Servers that are only asked for come first, as the newest ones. */
const selectServers = (
  { store }: ComputeDeps,
  filters: ServerFilters,
  sort: InstanceQuery["sort"],
  { limit, marker }: Page,
): readonly FoundServer[] => {
  const { query, predicates } = filters;
  const accepted = (instance: Instance): boolean => predicates.every((predicate) => predicate(instance));
  const pending = store.requests
    .buildRequests(query.projectId)
    .map(({ instance }) => instance)
    .filter((instance) => matches(instance, query) && accepted(instance));
  const at = pending.findIndex(({ uuid }) => uuid === marker);
  const inPending = marker === undefined || at >= 0;
  const building = inPending ? pending.slice(at + 1, at + 1 + limit) : [];
  const left = limit - building.length;
  const placed = selectPlaced(
    store,
    { ...query, ...(sort ? { sort } : {}) },
    {
      accepted: predicates.length > 0 ? accepted : undefined,
      limit: left,
      marker: inPending ? undefined : marker,
    },
  );
  return [
    ...building.map((instance) => ({ instance, building: true })),
    ...placed.map((instance) => ({ instance, building: false })),
  ];
};

interface PlacedPage extends Page {
  readonly accepted: ((instance: Instance) => boolean) | undefined;
}

const selectPlaced = (
  store: ComputeDeps["store"],
  query: InstanceQuery,
  { accepted, limit, marker }: PlacedPage,
): readonly Instance[] => {
  // The marker is a place in the order, also when the filters leave it out.
  if (marker !== undefined && !store.instances.get(marker, { readDeleted: true })) {
    throw badRequest(`marker [${marker}] not found`);
  }
  if (!accepted) return store.instances.list({ ...query, limit, ...(marker === undefined ? {} : { marker }) });
  const all = store.instances.list({ ...query, ...(marker === undefined ? {} : { marker }) });
  return all.filter(accepted).slice(0, limit);
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
    (query.changesBefore === undefined || changed <= query.changesBefore) &&
    (query.name === undefined || new NamePattern(query.name).matches(instance.displayName))
  );
};
