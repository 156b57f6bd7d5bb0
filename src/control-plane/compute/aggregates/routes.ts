import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { requireAdmin } from "../api/policy.js";
import { aggregateAction } from "./actions.js";
import { aggregateView, newAggregateView } from "./aggregate-view.js";
import { findAggregate } from "./find-aggregate.js";
import { CACHE_IMAGES, CREATE, UPDATE } from "./schemas.js";
import { findZoneRejection } from "./zone-rules.js";

const policy = (what: string): string => `os_compute_api:os-aggregates:${what}`;

/** Host aggregates. What is made, changed or deleted answers 200: Nova's clients know it so. */
export const AGGREGATE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/os-aggregates",
    handle: (deps, call) => {
      requireAdmin(call, policy("index"));
      return { body: { aggregates: deps.store.aggregates.list().map((each) => aggregateView(each, call.version)) } };
    },
  },
  { method: "POST", path: "/os-aggregates", handle: create },
  {
    method: "GET",
    path: "/os-aggregates/:id",
    handle: (deps, call) => {
      requireAdmin(call, policy("show"));
      return { body: { aggregate: aggregateView(findAggregate(deps, call), call.version) } };
    },
  },
  { method: "PUT", path: "/os-aggregates/:id", handle: update },
  { method: "DELETE", path: "/os-aggregates/:id", handle: destroy },
  { method: "POST", path: "/os-aggregates/:id/action", handle: aggregateAction },
  {
    method: "POST",
    path: "/os-aggregates/:id/images",
    from: 81,
    handle: (deps, call) => {
      const { cache } = call.body(CACHE_IMAGES);
      requireAdmin(call, "compute:aggregates:images");
      if (new Set(cache.map(({ id }) => id)).size < cache.length) {
        throw badRequest("Duplicate images in request");
      }
      findAggregate(deps, call);
      const unknown = cache.find(({ id }) => deps.images.find(id, call.credentials) === undefined);
      if (unknown) {
        throw badRequest(`Image ${unknown.id} could not be found.`);
      }
      // No host keeps images: there is nothing to fetch ahead of time.
      return { status: 202 };
    },
  },
];

function create({ store }: ComputeDeps, call: Call): ComputeResponse {
  const { name, availability_zone: zone } = call.body(CREATE).aggregate;
  requireAdmin(call, policy("create"));
  const aggregate = store.aggregates.create({ name, metadata: zone ? { availability_zone: zone } : {} });
  return { body: { aggregate: newAggregateView(aggregate, call.version) } };
}

function update(deps: ComputeDeps, call: Call): ComputeResponse {
  const { name, ...metadata } = call.body(UPDATE).aggregate;
  requireAdmin(call, policy("update"));
  const changed = deps.store.transaction(() => {
    const aggregate = findAggregate(deps, call);
    const rejection = findZoneRejection(deps.store, aggregate, metadata, { hosts: aggregate.hosts, noInstances: true });
    if (rejection) {
      throw badRequest(`Cannot update aggregate ${aggregate.id}. Reason: ${rejection}.`);
    }
    const named = name === undefined ? {} : { name: name.trim() };
    const updated = deps.store.aggregates.update(aggregate.id, { ...named, metadata });
    // As Nova does: the response has the time of a change of the metadata, which is not stored.
    return Object.keys(metadata).length > 0 ? { ...updated, updatedAt: deps.clock.now() } : updated;
  });
  return { body: { aggregate: aggregateView(changed, call.version) } };
}

function destroy(deps: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, policy("delete"));
  const { id, hosts } = findAggregate(deps, call);
  if (hosts.length > 0) {
    throw badRequest(`Cannot remove host from aggregate ${id}. Reason: Host aggregate is not empty.`);
  }
  deps.store.aggregates.destroy(id);
  return { status: 200 };
}
